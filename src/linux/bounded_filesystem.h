// A filesystem of a fixed size. It lies in a file without a name, on a loop device that clears
// itself, so nothing of it is left when the last mount is gone, whoever was killed.
#pragma once

#include <cstdint>
#include <string>

#include "paddock/error.h"

namespace paddock::kernel {

// Why this process cannot make one; empty if it can.
std::string why_no_bounded_filesystem();

// Moves this process to a mount namespace of its own, and mounts a new filesystem over `directory`
// there. At most `bytes` of files fit into it, and `inodes` files. The file that holds it lies in
// `directory`, beneath the mount.
Result<void> mount_bounded_filesystem(const std::string& directory, uint64_t bytes,
                                      uint64_t inodes);

// Files that are open in it stay until they are closed.
void unmount_bounded_filesystem(const std::string& directory);

}  // namespace paddock::kernel
