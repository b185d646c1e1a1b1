// The audit log: a directory of segments, each a file of JSON lines in which every record carries
// the hash of the one before. Several processes may append at once; each does so under a lock.
// docs/formats/audit.md has the format and what can be proved.
//
//   Log log = TRY(Log::open({.directory = …}));
//   TRY(log.append({event}, Sync::none));
//
// The record is in the file then. An error means that it was not recorded, and that nothing
// half-written stays.
//
// Sync::disk waits until it is on the disk. When that fails, the record may stand in the log
// although what it describes must not happen: better than the reverse.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event.h"
#include "paddock/error.h"

namespace paddock::audit {

class Disk;

struct LogOptions {
  // Made with mode 0700 when missing. Its parent must exist.
  std::string directory;
  uint64_t rotate_bytes = 64 << 20;
  // Of all segments. 0: no bound.
  uint64_t most_bytes = 4ull << 30;
  // 0: forever.
  uint64_t keep_ms = 0;
  // For tests (audit/disk.h).
  Disk* disk = nullptr;
};

// Sequence numbers, both inclusive.
struct Range {
  uint64_t first = 0, last = 0;
};

enum class Sync : uint8_t { none, disk };

class Log {
 public:
  // Makes the key at first use; mends a torn end and records that.
  static Result<Log> open(const LogOptions& options);
  Log(Log&&) noexcept;
  ~Log();

  // All or none of them, in order. `seq` numbers are given here. No room is Code::exhausted; then
  // it may be called again.
  Result<void> append(const std::vector<Event>& events, Sync sync);
  // By the last call.
  Range appended() const;
  // After this, what was appended is on the disk.
  Result<void> sync();

  // `count` records could not be written, and what they describe happened all the same. Kept in
  // `head`, which needs no room; the next append that succeeds (also one of nothing) records it as
  // log.gap.
  Result<void> count_missing(uint64_t count);

  // Whether a segment is full or old: a process that can sign then calls seal_and_rotate (the slim
  // program cannot, and starts one that can). A segment that nobody signs ends without a signature
  // at four times its size.
  bool is_full() const;

  // Set by programs that link the signing part (audit/seal.h); append() then rotates by itself.
  std::function<Result<void>(Log&)> on_full;

  struct State;
  // For audit/seal.cc.
  State& state() { return *state_; }

 private:
  explicit Log(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock::audit
