// Mounts by descriptor (the mount API of Linux 5.2 and 5.12): nothing here looks a path up twice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

// What a path is expected to be. All zero: not checked.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// A detached copy of the mount tree at `path`. Fails if the path is no longer what `expected` says,
// so that a path swapped since it was looked at is never mounted.
Result<Fd> clone_mount(const std::string& path, const FileIdentity& expected);

// Clones from a descriptor in this mount namespace; older kernels cannot clone a detached mount.
Result<Fd> clone_mount_of(int place);

// A detached bind of a place below `root`, reached without following links.
Result<Fd> clone_mount_beneath(int root, const std::string& path);

// MOUNT_ATTR_* on the whole tree of a detached mount.
Result<void> add_mount_attributes(int mount, uint64_t attributes);

// On-disk owner `from` appears as `to`, and what `to` creates is stored as `from`.
struct OwnerShift {
  uint32_t from_uid = 0, to_uid = 0, from_gid = 0, to_gid = 0;
  uint32_t count = 1;   // so many from there on
  uint32_t person = 0;  // 0: none. But for this one of them, which is another on disk:
  uint32_t person_uid = 0, person_gid = 0;
  bool operator==(const OwnerShift&) const = default;
};
// Needs privilege over the filesystem, which must support mapped mounts.
Result<void> shift_mount_owner(int mount, const OwnerShift& shift);

// The same in two parts, so that mounts which are shifted alike share one user namespace.
Result<Fd> make_shift(const OwnerShift& shift);
Result<void> apply_shift(int mount, int shift);

// A new filesystem, detached. Options are "key=value" or "flag".
Result<Fd> new_mount(const char* type, const std::vector<std::string>& options,
                     uint64_t attributes);

// Puts a detached mount at `target` below `root`. The target is reached without following any link.
Result<void> place_mount(int mount, int root, const std::string& target);

Result<void> place_mount_on(int mount, int place);

// An O_PATH descriptor of `path` inside `root`: no links, no "..", no other mounts' magic.
Result<Fd> open_in_root(int root, const std::string& path, int flags = 0);

// Cuts all propagation between this mount namespace and others.
Result<void> make_mounts_private();

// Makes a detached tmpfs the root of this mount namespace and lets go of the old root, which is
// then out of reach.
Result<void> enter_new_root(int mount);

// Makes the mount at `path` the root, and lets go of the one before.
Result<void> enter_mount(const std::string& path);

// Makes `path` the root of this process alone; the mount namespace stays as it is.
Result<void> change_root(const std::string& path);

Result<void> unmount(const std::string& path);  // lazily

}  // namespace paddock::kernel
