// Whether a log is what was written.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::audit {

class Disk;

struct VerifyOptions {
  std::string directory;
  // PEM. Empty: the directory's own.
  std::string public_key;
  // "SEQ:HASH": a record that must be there, noted elsewhere before.
  std::string expect;
  // Called with the bytes so far, and all of them.
  std::function<void(uint64_t done, uint64_t bytes)> progress;
  // For tests (audit/disk.h).
  Disk* disk = nullptr;
};

struct Damage {
  // "edited", "removed", "reordered", "inserted", "truncated", "rewritten", "missing_segment",
  // "swapped", "missing_seal", "bad_seal", "other_key", "missing_head", "bad_head", "unsigned",
  // "not_there"
  std::string what;
  // The first bad record: its number, or the one that should stand there.
  uint64_t seq = 0;
  // The file, and where in it.
  std::string segment;
  uint64_t line = 0;
  // For people.
  std::string why;
};

struct Verified {
  // Only what is good is counted.
  uint64_t records = 0, segments = 0, sealed = 0;
  uint64_t first = 0, last = 0;
  // Records up to this one are covered by a signature; 0: none is.
  uint64_t vouched = 0;
  // hex: note it elsewhere, with `last`, and nobody can take anything off the end.
  std::string last_hash;
  // Unset if it is whole.
  std::optional<Damage> damage;
  // Gaps that were recorded, a torn end that was never acknowledged, an end that no key vouches
  // for.
  std::vector<std::string> notes;
};

Result<Verified> verify(const VerifyOptions& options);
Value to_value(const Verified& verified);

}  // namespace paddock::audit
