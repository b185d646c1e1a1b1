#include "record/log_location.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "store/state.h"

namespace paddock::record {

namespace {

constexpr const char* kFile = "audit.place";
constexpr size_t kLongest = 4096;

std::string file_in(const std::string& state_directory) { return cat(state_directory, "/", kFile); }

}  // namespace

Result<void> leave_log_location(const std::string& state_directory, const std::string& log) {
  if (log == state_directory + "/audit") {
    if (::unlink(file_in(state_directory).c_str()) != 0 && errno != ENOENT)
      return errno_error(errno, "forget the audit log's other place");
    return {};
  }
  Fd directory = TRY(open_file(state_directory, O_RDONLY | O_DIRECTORY));
  return store::write_file(directory.get(), kFile, log + "\n");
}

// The file decides where records go, so it is believed only if it is a regular file of this user's
// own that nobody else can write.
Result<std::string> log_location(const std::string& state_directory) {
  std::string path = file_in(state_directory);
  Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file && errno == ENOENT) return state_directory + "/audit";
  if (!file) return errno_error(errno, cat("open '", printable(path), "'"));
  struct stat info;
  if (::fstat(file.get(), &info) != 0)
    return errno_error(errno, cat("look at '", printable(path), "'"));
  char text[kLongest + 1];
  ssize_t size = S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & 022) == 0
                     ? ::read(file.get(), text, sizeof text)
                     : -1;
  bool whole = size > 1 && size <= static_cast<ssize_t>(kLongest) && text[0] == '/' &&
               text[size - 1] == '\n';
  if (!whole)
    return Error{Code::denied,
                 cat("'", printable(path), "' does not name a place of the audit log"),
                 "remove it; a server writes it when its policy has [audit] path"};
  return std::string(text, static_cast<size_t>(size - 1));
}

}  // namespace paddock::record
