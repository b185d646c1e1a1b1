// Whether the log's files end where `head` says; and if not, whether an interrupted writer or a
// machine that went down can have left them so. Nothing else can: while the machine runs, the
// kernel loses no write. Writers and `verify` judge by the same rules.
#pragma once

#include <string>

#include "audit/head.h"

namespace paddock::audit {

struct LogEnd {
  enum class Kind : uint8_t {
    whole,           // as `head` says
    unbegun,         // an append was announced, and nothing of it was written
    unacknowledged,  // all of it was written, and its writer did not come to say so
    torn,            // a part of it was
    // The machine went down: what was not synced may be missing, and more may be there than `head`
    // knows.
    lost,
    damaged,  // somebody changed the files
  };
  Kind kind = Kind::whole;
  Head head;                  // where the log really ends; a writer goes on from here
  uint64_t last_segment = 0;  // there can be none after it
  uint64_t torn = 0;          // bytes of segment `cut` after `cut_at` that are not part of the log
  uint64_t cut = 0, cut_at = 0;
  std::string torn_hash;   // of (the first 16 MiB of) them
  uint64_t missing = 0;    // lost: acknowledged records that are gone
  uint64_t adopted = 0;    // lost: records that continue the chain after what `head` knows
  Mark expected;           // the end that was last acknowledged
  bool slot_torn = false;  // lost: the slots do not belong together
  std::string what, why;   // damaged: as in Damage (audit/verify.h)
  uint64_t from = 0;       // damaged: the first record that is meant; 0: unknown
};

// Under the lock. `has_head`: there is such a file.
Result<LogEnd> examine(int directory, const Heads& heads, bool has_head, std::string_view boot);

// Whether the record that ends at this place of the file claims the mark's hash. Whether it really
// has it, verify finds out.
Result<bool> ends_at(int file, const Mark& mark);

}  // namespace paddock::audit
