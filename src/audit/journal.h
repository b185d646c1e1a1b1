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
  size_t most_waiting_bytes = 64 << 20;  // of their texts
};

class Journal {
 public:
  static Result<std::unique_ptr<Journal>> start(const JournalOptions& options);
  ~Journal();  // writes and syncs what there is, seals nothing

  // `done` is called from the journal's thread once the event is on the disk, or cannot be
  // (Code::exhausted, Code::io): then what it describes must not happen. (From the caller's own, at
  // once, when too many wait already.) A later call tries again.
  void record(Event event, std::function<void(Result<void>)> done);
  void note(Event event);  // soon on the disk; no caller waits
  Result<void> seal();     // now; blocks

  struct Health {
    bool failing = false;  // the last attempt failed; the next record is tried all the same
    // And what it was to record was refused; else it happens without a record.
    bool refusing = false;
    std::string why;   // it failed, or no segment could be sealed or removed
    std::string hint;  // what to do about it
    uint64_t records = 0, syncs = 0;
    uint64_t missing = 0;  // of what happened all the same: a log.gap counts them
  };
  Health health() const;

 private:
  struct State;
  explicit Journal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock::audit
