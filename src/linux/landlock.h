// Landlock: a second file layer that needs no privilege.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::kernel {

int landlock_abi();  // 0 when the kernel has none

// What each ABI can handle. Rights that the kernel does not know would be refused.
uint64_t landlock_file_rights(int abi);
uint64_t landlock_scopes(int abi);

inline constexpr uint64_t kLandlockRead = 1 << 2 | 1 << 3;  // READ_FILE, READ_DIR
inline constexpr uint64_t kLandlockExecute = 1 << 0;
inline constexpr uint64_t kLandlockWriteFile = 1 << 1;
// The rights that make sense on a file (the kernel refuses directory rights there).
inline constexpr uint64_t kLandlockFileOnly = 1 << 0 | 1 << 1 | 1 << 2 | 1ULL << 14 | 1ULL << 15;

struct LandlockRule {
  std::string path;
  uint64_t rights = 0;
  uint64_t device = 0, inode = 0;  // what it must be; 0: whatever stands there
};

struct LandlockRules {
  uint64_t handled_files = 0;  // 0: no Landlock
  uint64_t handled_net = 0;
  uint64_t scoped = 0;
  std::vector<LandlockRule> rules;
};

// Restricts this thread's file access to `rules`. Irreversible. A rule whose path does not exist is
// an error.
Result<void> enter_landlock(const LandlockRules& rules);

}  // namespace paddock::kernel
