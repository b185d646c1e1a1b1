// How many events may be caused, and how long they may be. A flood of events must not fill the
// disk, nor hide the rest.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/token_bucket.h"
#include "paddock/error.h"

namespace paddock::record {

// Whether programs can cause events of this kind at will. Ends, limits, denials of the policy
// itself and what callers ask for are few, and never dropped.
bool may_be_dropped(std::string_view kind);

// Cuts what is longer than a record should be, and marks where. Call it after secrets were taken
// out, since half of one would not be recognised.
void shorten(Event& event);

// The event for something that was recorded before it was done and then failed. It has the same
// kind and span.
Event failure_of(const Event& recorded, const Error& why);

// Collects the input of processes into one event a second for each, with the sum.
class InputCounters {
 public:
  // Returns the process if no event for it is scheduled yet, and nothing otherwise.
  std::string add(const Event& event);
  std::optional<Event> take(const std::string& process);
  std::vector<Event> take_all(const std::string& sandbox);  // empty: of every one

 private:
  std::map<std::string, Event> open_;  // "SANDBOX PROCESS AGENT"
};

// How many events of the droppable kinds a sandbox may cause: a steady rate with bursts.
class EventBudget {
 public:
  static constexpr double kPerSecond = 200, kBurst = 1000;

  bool take(const std::string& sandbox, int64_t now_ms);  // false: it has had its share
  // Counts a dropped event. True for the first since dropped() was called.
  bool drop(const Event& event);
  // The event that says how many are missing; nothing if none are.
  std::optional<Event> dropped(const std::string& sandbox);
  void forget(const std::string& sandbox) { shares_.erase(sandbox); }

 private:
  struct Share {
    TokenBucket bucket{kPerSecond, kBurst};
    Event tell;                             // whose it is, where it belongs
    std::map<std::string, uint64_t> kinds;  // that are missing
  };
  std::map<std::string, Share> shares_;
};

}  // namespace paddock::record
