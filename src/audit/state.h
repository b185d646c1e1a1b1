// What a Log holds, for the files of this folder. Everything but opening is done under the lock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/disk.h"
#include "audit/head.h"
#include "audit/log.h"
#include "audit/log_directory.h"
#include "audit/log_end.h"

namespace paddock::audit {

struct Log::State {
  LogOptions options;
  Disk* disk = nullptr;
  Fd directory, head_file, segment_file;
  // The number of segment_file.
  uint64_t open_segment = 0;
  std::string seed, mac_key;
  // The content of `head` as last seen or written. Unset: it must be read again before it is
  // believed.
  std::optional<std::string> image;
  Head head;
  std::string boot;
  Range appended;
  Link appended_last;
  // A sync failed, after which the kernel's word on this file's pages cannot be trusted.
  bool distrusted = false;
  // When on_full last failed.
  int64_t full_failed_us = 0;

  // Fails when the directory is not the one at its path any more: it was moved, removed or
  // replaced.
  Result<Lock> lock();

  // Brings `head` and `segment_file` up to date with what others did; mends what somebody left
  // unfinished.
  Result<void> refresh();

  // Writes records after the last: announces them in `head`, writes them, and says so there. All
  // or nothing. `change` has what else is new in it.
  Result<void> write(const std::vector<Event>& events, Head change);
  Result<void> write(const std::vector<Event>& events) { return write(events, head); }
  struct Batch {
    std::string lines;
    // The offset in the segment.
    uint64_t at = 0;
    Head next;
  };
  Batch prepare(const std::vector<Event>& events, Head change) const;
  Result<void> announce(const Batch& batch);
  Result<void> commit(const Batch& batch);
  // For this append, or for more about the last one.
  Result<void> write_done(Head next);
  Result<void> write_slot(uint64_t at, const std::string& slot);

  // audit/mend.cc: goes on from where the log really ends, and records what was found.
  Result<void> mend(const LogEnd& log_end, const Heads& heads);

  // audit/rotate.cc
  bool is_full() const;
  // It was not signed for too long.
  bool is_overfull() const;
  // `more` comes after its log.open.
  Result<void> begin_segment(std::vector<Event> more);
  // With a log.seal of this data; begins the next.
  Result<void> end_segment(Value seal, std::vector<Event> more);
  // Removes old segments by the retention rules.
  Result<void> retire();
};

// With the time of now.
Event log_event(const char* kind, Value data);
Event damage_event(const LogEnd& log_end);

}  // namespace paddock::audit
