// A SQLite index over the log, made from it and brought up to date before each question. It can be
// thrown away: what is shown is read from the log, and a record whose hash is not right is shown as
// damaged.
//
//   Index index = TRY(Index::open(directory));
//   TRY(index.update());
//   for (const Found& found : TRY(index.find({.sandbox = "box"}))) …
//
// For one thread. Several processes may have it open at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::audit {

struct Query {
  std::string sandbox, tenant, agent, trace, verdict;
  // For example "command.start", or a whole family: "command".
  std::vector<std::string> kinds;
  // From, and up to but not including.
  std::optional<int64_t> since_us, until_us;
  // Sequence numbers.
  std::optional<uint64_t> after, before;
  // Found anywhere in the record.
  std::string text;
  size_t limit = 100;
  bool newest_first = true;
  // Also lines that are not records: they may be anyone's.
  bool unreadable = true;
  // Bytes that are looked through for `text`; then Code::exhausted.
  uint64_t most_searched = UINT64_MAX;
  // Bytes of all records found, except for the last; beyond this fewer are returned.
  uint64_t most_bytes = UINT64_MAX;
};

struct Found {
  // For a line without one: that of the line before, plus one.
  uint64_t seq = 0;
  // As it stands in the log.
  std::string line;
  // The file it is in.
  std::string segment;
  // The offset in that file.
  uint64_t offset = 0;
  // Why it is not what was written. Empty: its hash is right.
  std::string damage;
};

// The record as it stands in the log; of a damaged one, an object that says so and has its text.
std::string as_json(const Found& found);

class Index {
 public:
  // index.db in the log's directory, made again when it is damaged or somebody else's. Where none
  // can be kept (a directory that is not the caller's, or read-only, or full) it is made in memory,
  // each time.
  static Result<Index> open(const std::string& log_directory);
  Index(Index&&) noexcept;
  ~Index();
  // Brings it up to date with what was appended, rewritten or removed since.
  Result<void> update();
  Result<std::vector<Found>> find(const Query& query);
  // The same, one by one: for many.
  Result<void> each(const Query& query, const std::function<void(Found)>& take);
  // Returns how many lines it has then.
  static Result<uint64_t> rebuild(const std::string& log_directory);
  bool in_memory() const;

 private:
  struct State;
  explicit Index(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paddock::audit
