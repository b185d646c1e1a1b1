// Writing the entries of a hostile archive beneath one directory. Nothing here knows an archive
// format.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::store {

struct UnpackLimits {
  // Of all files together.
  uint64_t bytes = uint64_t{20} << 30;
  // Directories that the archive only implies count too.
  uint64_t entries = 1'000'000;
  // Unpacked to packed, checked beyond ratio_from.
  uint64_t ratio = 200;
  uint64_t ratio_from = 256 << 20;
};

struct UnpackReport {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  // Devices, fifos and sockets are left out.
  uint64_t skipped_devices = 0;
  // Files that lost a setuid or setgid bit.
  uint64_t dropped_setuid = 0;
};

// An entry's name as a path beneath the root: no leading "./", no doubled slashes; "" is the root
// itself. Refuses absolute names, "..", and what is too long or too deep.
Result<std::string> entry_path(const std::string& name);

// Parents are made when missing, and never reached through a link. What stands at a path is
// replaced, not written through. Owner is the caller; of the mode only rwx is kept.
class Extractor {
 public:
  Extractor(int root, const UnpackLimits& limits, UnpackReport& report)
      : root_(root), limits_(limits), report_(report) {}

  Result<void> directory(const std::string& path, unsigned mode);
  // Open for writing, empty.
  Result<Fd> file(const std::string& path, unsigned mode, uint64_t size);
  Result<void> symlink(const std::string& path, const std::string& target);
  // To a regular file that is already here.
  Result<void> hard_link(const std::string& path, const std::string& target);

  // Succeeds if it is gone already.
  Result<void> remove(const std::string& path);
  // Removes what is in the directory.
  Result<void> clear(const std::string& path);

  Result<void> count_entry();

 private:
  Result<Fd> parent_of(const std::string& path);
  Result<void> make_way(int parent, const std::string& name);

  int root_;
  const UnpackLimits& limits_;
  UnpackReport& report_;
};

}  // namespace paddock::store
