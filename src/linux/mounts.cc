#include "linux/mounts.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/child.h"
#include "linux/uapi.h"

namespace paddock::kernel {

namespace {

// The whole tree: a bind of the top alone would uncover what is hidden beneath other mounts.
constexpr unsigned kCloneTree = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;

}  // namespace

Result<Fd> clone_mount(const std::string& path, const FileIdentity& expected) {
  if (expected == FileIdentity{}) {
    Fd mount(::open_tree(AT_FDCWD, path.c_str(), kCloneTree));
    if (!mount) return errno_error(errno, cat("clone the mount of '", printable(path), "'"));
    return mount;
  }
  Fd place = TRY(open_file(path, O_PATH));
  struct stat info;
  if (::fstat(place.get(), &info) != 0)
    return errno_error(errno, cat("stat '", printable(path), "'"));
  FileIdentity found{info.st_dev, info.st_ino};
  if (expected != found)
    return Error{
        Code::conflict,
        cat("mount '", printable(path), "': it was replaced while the sandbox was being made"),
        "run it again; if this persists, something is swapping that path"};
  Fd mount(::open_tree(place.get(), "", kCloneTree | AT_EMPTY_PATH));
  if (!mount) return errno_error(errno, cat("clone the mount of '", printable(path), "'"));
  return mount;
}

Result<Fd> clone_mount_of(int place) {
  Fd mount(::open_tree(place, "", kCloneTree | AT_EMPTY_PATH));
  if (!mount) return errno_error(errno, "clone a mount");
  return mount;
}

Result<Fd> clone_mount_beneath(int root, const std::string& path) {
  Fd place = TRY(open_in_root(root, path));
  Fd mount(::open_tree(place.get(), "", kCloneTree | AT_EMPTY_PATH));
  if (!mount) return errno_error(errno, cat("clone the mount of '", printable(path), "' inside"));
  return mount;
}

Result<void> add_mount_attributes(int mount, uint64_t attributes) {
  mount_attr change{};
  change.attr_set = attributes;
  // A copy is a peer of its original: what the host mounts there later would appear inside.
  change.propagation = MS_PRIVATE;
  if (::mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) != 0)
    return errno_error(errno, "restrict a mount");
  return {};
}

namespace {

// A user namespace exists through its processes: a child holds it until we have a descriptor.
Result<Fd> make_user_namespace(const std::string& uids, const std::string& gids) {
  Child child = TRY(fork_child(CLONE_NEWUSER));
  if (child.pid == 0) {
    while (true) ::pause();
  }
  Result<void> mapped = write_id_lines(child.pid, uids, gids);
  Result<Fd> user_namespace = mapped ? open_file(cat("/proc/", child.pid, "/ns/user"), O_RDONLY)
                                     : Result<Fd>(mapped.error());
  (void)pidfd_send_signal(child.pidfd.get(), SIGKILL);
  (void)::waitpid(child.pid, nullptr, 0);
  return user_namespace;
}

}  // namespace

Result<Fd> make_shift(const OwnerShift& shift) {
  auto lines = [&](uint32_t from, uint32_t to, uint32_t person_id) {
    uint32_t person = shift.person;
    if (person == 0) return cat(from, " ", to, " ", shift.count, "\n");
    return cat(from, " ", to, " ", person, "\n", person_id, " ", to + person, " 1\n",
               from + person + 1, " ", to + person + 1, " ", shift.count - person - 1, "\n");
  };
  return make_user_namespace(lines(shift.from_uid, shift.to_uid, shift.person_uid),
                             lines(shift.from_gid, shift.to_gid, shift.person_gid));
}

Result<void> shift_mount_owner(int mount, const OwnerShift& shift) {
  Fd user_namespace = TRY(make_shift(shift));
  return apply_shift(mount, user_namespace.get());
}

Result<void> apply_shift(int mount, int shift) {
  mount_attr change{};
  change.attr_set = MOUNT_ATTR_IDMAP;
  change.userns_fd = static_cast<uint64_t>(shift);
  if (::mount_setattr(mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &change, sizeof change) != 0)
    return errno_error(errno, "map the owner of a mount",
                       "this filesystem cannot map owners; use :ro or :copy, or run paddock as the "
                       "owner of the directory");
  return {};
}

Result<Fd> new_mount(const char* type, const std::vector<std::string>& options,
                     uint64_t attributes) {
  Fd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) return errno_error(errno, cat("open filesystem type ", type));
  for (const std::string& option : options) {
    size_t equals = option.find('=');
    std::string key = option.substr(0, equals);
    bool flag = equals == std::string::npos;
    if (::fsconfig(context.get(), flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, key.c_str(),
                   flag ? nullptr : option.c_str() + equals + 1, 0) != 0)
      return errno_error(errno, cat("set ", type, " option ", option));
  }
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return errno_error(errno, cat("create a ", type));
  Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  if (!mount) return errno_error(errno, cat("mount a ", type));
  return mount;
}

// The new root may hold links that a grant or an image brought, so none is followed.
Result<Fd> open_in_root(int root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>((flags ? flags : O_PATH) | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  int fd = static_cast<int>(::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how));
  if (fd < 0)
    return errno_error(errno, cat("open '", printable(path), "' inside the sandbox's root"));
  return Fd(fd);
}

Result<void> place_mount(int mount, int root, const std::string& target) {
  Fd place = TRY(open_in_root(root, target));
  Result<void> placed = place_mount_on(mount, place.get());
  if (!placed)
    placed.error().message = cat("mount at '", printable(target), "': ", placed.error().message);
  return placed;
}

Result<void> place_mount_on(int mount, int place) {
  if (::move_mount(mount, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0)
    return errno_error(errno, "place a mount");
  return {};
}

Result<void> make_mounts_private() {
  mount_attr change{};
  change.propagation = MS_PRIVATE;
  if (::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof change) != 0)
    return errno_error(errno, "make all mounts private");
  return {};
}

namespace {

// The working directory becomes the root.
Result<void> leave_old_root() {
  // pivot_root(".", ".") stacks the old root on the new one; the lazy unmount takes it away
  // (pivot_root(2), NOTES).
  if (pivot_root(".", ".") != 0) return errno_error(errno, "pivot into the new root");
  if (::umount2(".", MNT_DETACH) != 0) return errno_error(errno, "let go of the old root");
  if (::chdir("/") != 0) return errno_error(errno, "change to the new root");
  return {};
}

}  // namespace

Result<void> enter_new_root(int mount) {
  // pivot_root wants a mounted new root; any directory will do to mount it on, and /proc is on
  // every Linux.
  if (::move_mount(mount, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return errno_error(errno, "mount the new root");
  if (::fchdir(mount) != 0) return errno_error(errno, "enter the new root");
  return leave_old_root();
}

Result<void> enter_mount(const std::string& path) {
  if (::chdir(path.c_str()) != 0) return errno_error(errno, cat("enter '", printable(path), "'"));
  return leave_old_root();
}

Result<void> change_root(const std::string& path) {
  if (::chroot(path.c_str()) != 0 || ::chdir("/") != 0)
    return errno_error(errno, cat("change the root to '", printable(path), "'"));
  return {};
}

Result<void> unmount(const std::string& path) {
  if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
    return errno_error(errno, cat("unmount '", path, "'"));
  return {};
}

}  // namespace paddock::kernel
