// What was done to a log, as seen from the first line that does not fit and from what stands after
// it.
#pragma once

#include <optional>
#include <string>

#include "audit/record.h"
#include "audit/snapshot.h"
#include "audit/verify.h"

namespace paddock::audit {

// Where the chain broke.
struct Break {
  Link last, before;  // the last two records that fit
  uint64_t last_segment = 0, last_line = 0;
  bool last_is_seal = false;
  size_t segment = 0;                       // index in the snapshot of the line that does not fit
  uint64_t line = 0, offset = 0, size = 0;  // of it
  std::string text;                         // of it
  bool whole = true;
};

Result<Damage> diagnose(const Snapshot& snapshot, const Break& broken);

}  // namespace paddock::audit
