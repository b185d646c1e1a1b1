// A tree of files copied as it is, for layers: owners, modes, times, extended attributes (the
// overlay's marks among them), whiteouts, hard links and holes. Shares the blocks where the
// filesystem can (FICLONE). The source must not change meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "paddock/error.h"

namespace paddock::store {

struct CopyOptions {
  // Beyond this: Code::exhausted.
  uint64_t most_bytes = UINT64_MAX;
  // Names. Beyond this: Code::exhausted.
  uint64_t most_inodes = 2'000'000;
  // Looked at now and then; Code::conflict once it is true.
  const std::atomic<bool>* cancelled = nullptr;
};

struct Copied {
  // Bytes of data without holes, and 4096 for each name: empty files are not free.
  uint64_t bytes = 0;
  // Without the root itself.
  uint64_t inodes = 0;
};

// Into `to`, a new directory in an existing one. What was copied until a failure stays there: it is
// the caller's to remove.
Result<Copied> copy_tree(const std::string& from, const std::string& to,
                         const CopyOptions& options = {});

}  // namespace paddock::store
