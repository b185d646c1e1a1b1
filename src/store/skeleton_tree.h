// Writes a tree for the inside of sandboxes: owners as they are to be inside, where this user can
// give files away.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::store {

// Whether this user can give files to the ids of layers (root with CAP_CHOWN); else everything
// stays the caller's.
bool has_disk_ids();

struct Owner {
  // As they are inside.
  uint32_t uid = 0, gid = 0;
};

class SkeletonTree {
 public:
  // Makes it, with mode 0755.
  static Result<SkeletonTree> create(const std::string& path);

  // Parents too, 0755 of root.
  Result<void> directory(const std::string& path, unsigned mode = 0755, Owner owner = {});
  Result<void> file(const std::string& path, const std::string& content, unsigned mode = 0644,
                    Owner owner = {});
  Result<void> link(const std::string& path, const std::string& target);
  // Hides what a layer below has there.
  Result<void> whiteout(const std::string& path);

  // Copies a host file or tree to the same path in here, unless it is there already; missing is
  // fine. What not everybody may read on the host is left out: that is where secrets are. So is
  // what `keep` says no to (the host's path, the first 64 KiB).
  using Keep = std::function<bool(const std::string& path, const std::string& head)>;
  Result<void> copy(const std::string& host_path, const Keep& keep = nullptr, Owner owner = {});
  // One entry (not what is beneath it) of a directory that others wrote; a hostile one leads
  // nowhere else.
  Result<void> copy_beneath(int folder, const std::string& name, const std::string& path);
  // A file or link. Succeeds if it is missing.
  Result<void> remove(const std::string& path);
  Result<void> copy_to(const std::string& host_path, const std::string& path, const Keep& keep,
                       Owner owner);

 private:
  Result<Fd> parent_of(const std::string& path, std::string& name);
  Result<void> finish(int fd, unsigned mode, Owner owner) const;
  Result<void> copy_file(int source, const std::string& host_path, const std::string& path,
                         const Keep& keep, Owner owner);

  Fd top_;
  bool ids_ = false;
  // Kept open, because most files come directory by directory.
  std::string last_parent_;
  Fd last_;
};

}  // namespace paddock::store
