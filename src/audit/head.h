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
  // The file that is written to, and its bytes.
  uint64_t segment = 1, size = 0;
  // The last record.
  Link last;
  // The first record of the segment.
  uint64_t first = 1;
  // The hash of the record before that one.
  std::string before{kNoHash};
  // When the segment was begun.
  int64_t opened_us = 0;
  // The last record is log.seal.
  bool ended = false;
  bool operator==(const Mark&) const = default;
};

struct Head : Mark {
  // Counts appends.
  uint64_t generation = 0;
  // The boot in which this was written (Disk::boot_id).
  std::string boot;
  // All records up to this one are on the disk.
  Link synced;
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
  // The slots that are whole.
  std::optional<Head> intent, done;
  // The end before the intent.
  Mark before;

  // The last append was finished.
  bool settled() const;
  // One was announced, and not finished.
  bool under_way() const;
  // Null if there is none.
  const Head* newest() const;
  // The end that was last acknowledged, as far as the slots tell.
  Mark finished() const;
  Link synced() const;
};
Heads read_heads(std::string_view file, std::string_view mac_key);

}  // namespace paddock::audit
