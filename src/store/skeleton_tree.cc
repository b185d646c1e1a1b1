#include "store/skeleton_tree.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/caps.h"
#include "linux/tree.h"
#include "store/copy_file.h"
#include "store/rootfs.h"

namespace paddock::store {

namespace {

// In bytes of a file that a filter may look at.
constexpr size_t kHead = 64 << 10;

std::string relative(const std::string& path) {
  size_t begin = path.find_first_not_of('/');
  return begin == std::string::npos ? "" : path.substr(begin);
}

}  // namespace

// Mapping layers later needs CAP_SYS_ADMIN as well.
bool has_disk_ids() {
  return ::geteuid() == 0 && kernel::has_capability(CAP_CHOWN) &&
         kernel::has_capability(CAP_SYS_ADMIN);
}

// Fails if the directory exists: a half-made tree must not be taken for a whole one.
Result<SkeletonTree> SkeletonTree::create(const std::string& path) {
  SkeletonTree tree;
  tree.ids_ = has_disk_ids();
  if (::mkdir(path.c_str(), 0755) != 0)
    return errno_error(errno, cat("make '", printable(path), "'"));
  tree.top_ = TRY(open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  TRY(tree.finish(tree.top_.get(), 0755, {}));
  return tree;
}

// The owner comes first, since changing it clears bits of the mode.
Result<void> SkeletonTree::finish(int fd, unsigned mode, Owner owner) const {
  if (ids_ && ::fchown(fd, kDiskBase + owner.uid, kDiskBase + owner.gid) != 0)
    return errno_error(errno, "give a file of a template away");
  if (::fchmod(fd, mode) != 0) return errno_error(errno, "set the mode of a file of a template");
  return {};
}

// Opens the directory that `path` is in, made when missing.
Result<Fd> SkeletonTree::parent_of(const std::string& path, std::string& name) {
  kernel::PathParts parts = kernel::split_path(relative(path));
  name = parts.name;
  if (last_ && parts.parent == last_parent_) return Fd(::fcntl(last_.get(), F_DUPFD_CLOEXEC, 0));
  if (!parts.parent.empty() &&
      !kernel::open_beneath(top_.get(), parts.parent, O_PATH | O_DIRECTORY))
    TRY(directory(parts.parent));
  last_ = TRY(kernel::open_beneath(top_.get(), parts.parent, O_RDONLY | O_DIRECTORY));
  last_parent_ = parts.parent;
  return Fd(::fcntl(last_.get(), F_DUPFD_CLOEXEC, 0));
}

Result<void> SkeletonTree::directory(const std::string& path, unsigned mode, Owner owner) {
  std::string name;
  Fd parent = TRY(parent_of(path, name));
  if (::mkdirat(parent.get(), name.c_str(), 0700) != 0 && errno != EEXIST)
    return errno_error(errno, cat("make '", printable(path), "'"));
  Fd made = TRY(kernel::open_beneath(parent.get(), name, O_RDONLY | O_DIRECTORY));
  return finish(made.get(), mode, owner);
}

// Replaces what is there: files of our own win over copied ones.
Result<void> SkeletonTree::file(const std::string& path, const std::string& content, unsigned mode,
                                Owner owner) {
  std::string name;
  Fd parent = TRY(parent_of(path, name));
  (void)::unlinkat(parent.get(), name.c_str(), 0);
  Fd made(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made) return errno_error(errno, cat("make '", printable(path), "'"));
  TRY(write_all(made.get(), content));
  return finish(made.get(), mode, owner);
}

// An existing entry wins, because some links are made twice.
Result<void> SkeletonTree::link(const std::string& path, const std::string& target) {
  std::string name;
  Fd parent = TRY(parent_of(path, name));
  if (::symlinkat(target.c_str(), parent.get(), name.c_str()) != 0) {
    if (errno == EEXIST) return {};
    return errno_error(errno, cat("link '", printable(path), "'"));
  }
  if (ids_ &&
      ::fchownat(parent.get(), name.c_str(), kDiskBase, kDiskBase, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error(errno, "give a link of a template away");
  return {};
}

Result<void> SkeletonTree::whiteout(const std::string& path) {
  std::string name;
  Fd parent = TRY(parent_of(path, name));
  // Everybody may make this one device: overlayfs's mark for "nothing here" (Linux 5.8).
  if (::mknodat(parent.get(), name.c_str(), S_IFCHR, makedev(0, 0)) != 0)
    return errno_error(errno, cat("hide '", printable(path), "'"));
  return {};
}

Result<void> SkeletonTree::copy(const std::string& host_path, const Keep& keep, Owner owner) {
  return copy_to(host_path, host_path, keep, owner);
}

// Only what everybody can read on the host is copied. Links are copied as links.
Result<void> SkeletonTree::copy_to(const std::string& host_path, const std::string& path,
                                   const Keep& keep, Owner owner) {
  struct stat info;
  if (::lstat(host_path.c_str(), &info) != 0) return {};
  if (S_ISLNK(info.st_mode)) {
    char target[4096];
    ssize_t size = ::readlink(host_path.c_str(), target, sizeof target);
    if (size <= 0) return {};
    return link(path, std::string(target, static_cast<size_t>(size)));
  }
  if (S_ISREG(info.st_mode) && (info.st_mode & S_IROTH)) {
    Fd source(::open(host_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    return source ? copy_file(source.get(), host_path, path, keep, owner) : Result<void>();
  }
  if (!S_ISDIR(info.st_mode) || (info.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH))
    return {};
  TRY(directory(path, (info.st_mode & 0777) | 0700, owner));
  Fd folder(::open(host_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!folder) return {};
  for (const std::string& name : TRY(kernel::list_directory(folder.get()))) {
    std::string below = cat(host_path, "/", name);
    TRY(copy_to(below, cat(path, "/", name), keep, owner));
  }
  return {};
}

// Setuid bits are dropped. Devices and the like are left out.
Result<void> SkeletonTree::copy_beneath(int folder, const std::string& name,
                                        const std::string& path) {
  struct stat info;
  if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return errno_error(errno, cat("look at '", printable(path), "'"));
  if (S_ISLNK(info.st_mode)) {
    char target[4096];
    ssize_t size = ::readlinkat(folder, name.c_str(), target, sizeof target);
    return size <= 0 ? Result<void>() : link(path, std::string(target, static_cast<size_t>(size)));
  }
  if (S_ISDIR(info.st_mode)) return directory(path, (info.st_mode & 01777) | 0700);
  if (!S_ISREG(info.st_mode)) return {};
  Fd source = TRY(kernel::open_beneath(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  return copy_file(source.get(), path, path, nullptr, {});
}

// Only what is in this tree is removed; it does not hide anything of a lower layer.
Result<void> SkeletonTree::remove(const std::string& path) {
  std::string name;
  Fd parent = TRY(parent_of(path, name));
  if (::unlinkat(parent.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    return errno_error(errno, cat("remove '", printable(path), "'"));
  return {};
}

// The head is read first, so that the filter decides before anything is written.
Result<void> SkeletonTree::copy_file(int source, const std::string& host_path,
                                     const std::string& path, const Keep& keep, Owner owner) {
  struct stat info;
  if (::fstat(source, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string head(std::min<size_t>(kHead, static_cast<size_t>(info.st_size)), '\0');
  ssize_t got = ::pread(source, head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  if (keep && !keep(host_path, head)) return {};

  std::string name;
  Fd parent = TRY(parent_of(path, name));
  Fd made(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made && errno == EEXIST) return {};
  if (!made) return errno_error(errno, cat("make '", printable(path), "'"));
  if (head.size() == static_cast<size_t>(info.st_size)) {
    TRY(write_all(made.get(), head));
  } else {
    if (Result<void> copied = copy_content(source, made.get(), static_cast<uint64_t>(info.st_size));
        !copied)
      return Error{copied.error().code,
                   cat("copy '", printable(host_path), "': ", copied.error().message), ""};
  }
  TRY(finish(made.get(), info.st_mode & 0755, owner));
  timespec times[2] = {info.st_mtim, info.st_mtim};
  (void)::futimens(made.get(), times);
  return {};
}

}  // namespace paddock::store
