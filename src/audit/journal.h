// Records that are on the disk before what they describe happens, many at a time: one thread
// writes, and syncs once for all waiters. For a server; a single run appends by itself
// (audit/log.h).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "audit/log.h"
#include "paddock/policy.h"

namespace paddock::audit {

struct JournalOptions {
  LogOptions log;
  // No room. gap: goes on without a record, and records how many are missing once there is.
  AuditFull on_full = AuditFull::refuse;
  // Else waiters go on once it is written; it is on the disk soon after.
  bool durable = true;
  // Records not yet on the disk; then note() drops and counts, record() refuses.
  size_t most_waiting = 65'536;
  // Of their texts.
  size_t most_waiting_bytes = 64 << 20;
};

class Journal {
 public:
  static Result<std::unique_ptr<Journal>> start(const JournalOptions& options);
  // Writes and syncs what there is. Seals nothing.
  ~Journal();

  // `done` is called from the journal's thread once the event is on the disk, or cannot be
  // (Code::exhausted, Code::io): then what it describes must not happen. (From the caller's own, at
  // once, when too many wait already.) A later call tries again.
  void record(Event event, std::function<void(Result<void>)> done);
  // On the disk soon; no caller waits.
  void note(Event event);
  // Now. Blocks.
  Result<void> seal();

  struct Health {
    // The last attempt failed. The next record is tried all the same.
    bool failing = false;
    // And what it was to record was refused; else it happens without a record.
    bool refusing = false;
    // Why it failed, or why no segment could be sealed or removed.
    std::string why;
    // What to do about it.
    std::string hint;
    uint64_t records = 0, syncs = 0;
    // Events that happened without a record. A log.gap counts them.
    uint64_t missing = 0;
  };
  Health health() const;

 private:
  struct State;
  explicit Journal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock::audit
