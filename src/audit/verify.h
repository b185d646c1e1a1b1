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
  std::string public_key;  // PEM; empty: the directory's own
  // "SEQ:HASH": a record that must be there, noted elsewhere before.
  std::string expect;
  std::function<void(uint64_t done, uint64_t bytes)> progress;  // bytes so far, and all of them
  Disk* disk = nullptr;                                         // for tests (audit/disk.h)
};

struct Damage {
  // "edited", "removed", "reordered", "inserted", "truncated", "rewritten", "missing_segment",
  // "swapped", "missing_seal", "bad_seal", "other_key", "missing_head", "bad_head", "unsigned",
  // "not_there"
  std::string what;
  uint64_t seq = 0;     // the first bad record: its number, or the one that should stand there
  std::string segment;  // file, and where in it
  uint64_t line = 0;
  std::string why;  // for people
};

struct Verified {
  uint64_t records = 0, segments = 0, sealed = 0;  // that are good
  uint64_t first = 0, last = 0;
  // Records up to this one are covered by a signature; 0: none is.
  uint64_t vouched = 0;
  // hex: note it elsewhere, with `last`, and nobody can take anything off the end.
  std::string last_hash;
  std::optional<Damage> damage;  // none: it is whole
  // Gaps that were recorded, a torn end that was never acknowledged, an end that no key vouches
  // for.
  std::vector<std::string> notes;
};

Result<Verified> verify(const VerifyOptions& options);
Value to_value(const Verified& verified);

}  // namespace paddock::audit
