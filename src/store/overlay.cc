#include "store/overlay.h"

#include <sys/xattr.h>

#include <cerrno>

#include "base/text.h"

namespace paddock::store {

namespace {
constexpr std::string_view kPrefix = "user.overlay.";
}

// A mark that is not known, or has another value than the kernel writes, was set by the program.
OverlayMarks overlay_marks(int fd) {
  OverlayMarks marks;
  std::string names(65536, '\0');  // XATTR_LIST_MAX
  ssize_t length = ::flistxattr(fd, names.data(), names.size());
  if (length < 0) {
    if (errno != EOPNOTSUPP) marks.forged = "attributes that cannot be read";
    return marks;
  }
  names.resize(static_cast<size_t>(length));
  for (const std::string& name : split(names, '\0')) {
    if (!starts_with(name, kPrefix)) continue;
    std::string mark = name.substr(kPrefix.size());
    if (mark == "opaque") {
      char value = 0;
      ssize_t size = ::fgetxattr(fd, name.c_str(), &value, 1);
      if (size == 1 && value == 'y')
        marks.opaque = true;
      else if (size != 1 || value != 'x')
        marks.forged = name;  // "x": holds whiteouts of the newer kind
    } else if (mark == "whiteout") {
      marks.whiteout = true;
    } else if (mark == "origin") {
      marks.copied_up = true;
    } else if (mark == "impure" || mark == "nlink" || mark == "upper" || mark == "uuid" ||
               mark == "protattr" || starts_with(mark, "overlay.")) {
      // The kernel's own bookkeeping; "overlay.overlay." is how it hides what the program inside
      // tried to set.
    } else {
      // Redirect and metacopy would fetch content from elsewhere; the rest is unknown.
      marks.forged = name;
    }
  }
  return marks;
}

}  // namespace paddock::store
