#include "guest/copy_tree.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <cstring>

#include "base/text.h"
#include "guest/request.h"
#include "linux/tree.h"

namespace paddock::guest {

namespace {

// Each level of the recursion holds two descriptors.
constexpr int kDeepest = 512;

// A file in an open directory. Names are looked up one at a time and never followed, so that a link
// which appears during the copy leads nowhere else.
struct Node {
  int directory;
  const std::string& name;
  const std::string& path;  // to show
};

Error failed(const Node& node) {
  return refuse_errno(errno, cat("copy '", printable(node.path), "'"));
}

// Owner first: it clears set-uid bits, which the mode then brings back.
Result<void> copy_attributes(const struct stat& info, int from, int to, const Node& node) {
  if (::fchown(to, info.st_uid, info.st_gid) != 0 || ::fchmod(to, info.st_mode & 07777) != 0)
    return failed(node);
  char names[16 << 10], value[64 << 10];
  ssize_t size = ::flistxattr(from, names, sizeof names);
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(::strlen(names + at)) + 1) {
    ssize_t length = ::fgetxattr(from, names + at, value, sizeof value);
    if (length >= 0) (void)::fsetxattr(to, names + at, value, static_cast<size_t>(length), 0);
  }
  timespec times[2] = {info.st_atim, info.st_mtim};
  (void)::futimens(to, times);
  return {};
}

// The text of the link is copied as it is, even if it leads nowhere from the new place.
Result<void> copy_link(const struct stat& info, const Node& from, const Node& to) {
  char target[PATH_MAX + 1];
  ssize_t size = ::readlinkat(from.directory, from.name.c_str(), target, PATH_MAX);
  if (size < 0) return failed(from);
  target[size] = '\0';
  if (::symlinkat(target, to.directory, to.name.c_str()) != 0) return failed(to);
  (void)!::fchownat(to.directory, to.name.c_str(), info.st_uid, info.st_gid, AT_SYMLINK_NOFOLLOW);
  return {};
}

// Writes a new file instead of into an existing one: that could be a link, or have other names.
Result<void> copy_file(const Node& from, const Node& to) {
  Fd source(
      ::openat(from.directory, from.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!source || ::fstat(source.get(), &info) != 0) return failed(from);
  if (::unlinkat(to.directory, to.name.c_str(), 0) != 0 && errno != ENOENT) return failed(to);
  Fd target(::openat(to.directory, to.name.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target) return failed(to);
  while (true) {
    ssize_t count = ::sendfile(target.get(), source.get(), nullptr, 1 << 20);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(to);
    if (count == 0) break;
  }
  return copy_attributes(info, source.get(), target.get(), to);
}

// Declared here because a directory copies its entries with it.
Result<void> copy_node(const Node& from, const Node& to, int depth);

// The copy is private (0700) until its content is complete, and gets its own mode and owner last.
Result<void> copy_directory(const Node& from, const Node& to, int depth) {
  Fd source(
      ::openat(from.directory, from.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info;
  if (!source || ::fstat(source.get(), &info) != 0) return failed(from);
  if (::mkdirat(to.directory, to.name.c_str(), 0700) != 0) return failed(to);
  Fd target(
      ::openat(to.directory, to.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target) return failed(to);
  for (const std::string& name : TRY(kernel::list_directory(source.get()))) {
    std::string from_path = cat(from.path, "/", name), to_path = cat(to.path, "/", name);
    TRY(copy_node({source.get(), name, from_path}, {target.get(), name, to_path}, depth + 1));
  }
  return copy_attributes(info, source.get(), target.get(), to);
}

Result<void> copy_node(const Node& from, const Node& to, int depth) {
  if (depth > kDeepest)
    return refuse(Kind::failed_precondition, cat("copy '", printable(from.path), "': too deep"));
  struct stat info;
  if (::fstatat(from.directory, from.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return failed(from);
  if (S_ISDIR(info.st_mode)) return copy_directory(from, to, depth);
  if (S_ISLNK(info.st_mode)) return copy_link(info, from, to);
  if (S_ISREG(info.st_mode)) return copy_file(from, to);
  if (S_ISFIFO(info.st_mode) && ::mkfifoat(to.directory, to.name.c_str(), info.st_mode & 0777) != 0)
    return failed(to);
  return {};  // sockets and devices have no content to take along
}

}  // namespace

Result<void> copy_tree(const std::string& from, const std::string& to) {
  return copy_node({AT_FDCWD, from, from}, {AT_FDCWD, to, to}, 0);
}

}  // namespace paddock::guest
