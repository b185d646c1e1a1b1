// Whether the log's files end where `head` says; and if not, whether an interrupted writer or a
// machine that went down can have left them so. Nothing else can: while the machine runs, the
// kernel loses no write. Writers and `verify` judge by the same rules.
#pragma once

#include <string>

#include "audit/head.h"

namespace paddock::audit {

struct LogEnd {
  enum class Kind : uint8_t {
    // As `head` says.
    whole,
    // An append was announced, and nothing of it was written.
    unbegun,
    // All of it was written, and its writer did not come to say so.
    unacknowledged,
    // A part of it was written.
    torn,
    // The machine went down: what was not synced may be missing, and more may be there than `head`
    // knows.
    lost,
    // Somebody changed the files.
    damaged,
  };
  Kind kind = Kind::whole;
  // Where the log really ends. A writer goes on from here.
  Head head;
  // There can be no segment after it.
  uint64_t last_segment = 0;
  // Bytes of segment `cut` after `cut_at` that are not part of the log.
  uint64_t torn = 0;
  uint64_t cut = 0, cut_at = 0;
  // The hash of (the first 16 MiB of) them.
  std::string torn_hash;
  // For `lost`: acknowledged records that are gone.
  uint64_t missing = 0;
  // For `lost`: records that continue the chain after what `head` knows.
  uint64_t adopted = 0;
  // The end that was last acknowledged.
  Mark expected;
  // For `lost`: the slots do not belong together.
  bool slot_torn = false;
  // For `damaged`: as in Damage (audit/verify.h).
  std::string what, why;
  // For `damaged`: the first record that is meant. 0: unknown.
  uint64_t from = 0;
};

// Under the lock. `has_head`: there is such a file.
Result<LogEnd> examine(int directory, const Heads& heads, bool has_head, std::string_view boot);

// Whether the record that ends at this place of the file claims the mark's hash. Whether it really
// has it, verify finds out.
Result<bool> ends_at(int file, const Mark& mark);

}  // namespace paddock::audit
