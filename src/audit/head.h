// `head`: where the log ends, and how much of it is known to be on the disk. Two slots: `intent` is
// written before the records of an append, `done` after them, so that whatever an interrupted
// writer leaves can be told from what somebody else did to the files. Each has an HMAC: nobody
// without the key can say that the log ended elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/record.h"
#include "paddock/error.h"

namespace paddock::audit {

// A place where the log ends, or ended.
struct Mark {
  uint64_t segment = 1, size = 0;  // the file that is written to, and its bytes
  Link last;                       // the last record
  uint64_t first = 1;              // of the segment
  std::string before{kNoHash};     // hash of the record before that one
  int64_t opened_us = 0;           // when the segment was begun
  bool ended = false;              // its last record is log.seal
  bool operator==(const Mark&) const = default;
};

struct Head : Mark {
  uint64_t generation = 0;  // counts appends
  std::string boot;         // when this was written (Disk::boot_id)
  Link synced;              // all records up to this one are on the disk
  // Segments up to this number were removed by the retention rules.
  uint64_t retired = 0;
  // Records that could not be written, and that no log.gap counts yet.
  uint64_t missing = 0;
  int64_t missing_since_us = 0;
};

// One page: a slot is written as a whole or not at all as long as the machine runs.
inline constexpr size_t kSlotSize = 2048, kHeadSize = 2 * kSlotSize;
inline constexpr uint64_t kIntentAt = 0, kDoneAt = kSlotSize;

std::string encode_intent(const Head& after, const Mark& before, std::string_view mac_key);
std::string encode_done(const Head& head, std::string_view mac_key);

struct Heads {
  std::optional<Head> intent, done;  // the slots that are whole
  Mark before;                       // of the intent

  bool settled() const;        // the last append was finished
  bool under_way() const;      // one was announced, and not finished
  const Head* newest() const;  // null: there is none
  Mark finished() const;       // the end that was last acknowledged, as far as the slots tell
  Link synced() const;
};
Heads read_heads(std::string_view file, std::string_view mac_key);

}  // namespace paddock::audit
