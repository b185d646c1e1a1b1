// The files of a volume, from outside: blocking calls for a worker's thread. Sandboxes that mount
// it write there too, so no link is ever followed and no path leads out. Ids are those that the
// sandboxes see.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/value.h"

namespace paddock::api {

// Who owns an entry, and its mode. What is unset stays as it is, or is root's when it is new.
struct VolumeOwner {
  std::optional<int64_t> uid, gid, mode;
};

class VolumeTree {
 public:
  static Result<VolumeTree> open(const std::string& directory);

  // `path` as the client wrote it: "/a/b", "a/b". Errors: Code::not_found, Code::conflict (exists,
  // is not a directory), Code::invalid.
  Result<Value> stat(const std::string& path) const;
  // An array; refuses more than some ten thousands.
  Result<Value> list(const std::string& path, int64_t depth) const;
  Result<Value> make_directory(const std::string& path, const VolumeOwner& owner, bool force) const;
  Result<Value> change(const std::string& path, const VolumeOwner& owner) const;
  Result<void> remove(const std::string& path) const;
  struct File {
    Fd fd;
    uint64_t size = 0;
  };
  Result<File> open_to_read(const std::string& path) const;
  Result<Fd> open_to_write(const std::string& path, const VolumeOwner& owner, bool force) const;

 private:
  explicit VolumeTree(Fd root) : root_(std::move(root)) {}
  Fd root_;
};

}  // namespace paddock::api
