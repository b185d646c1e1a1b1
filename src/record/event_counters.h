// Counts what happens on this server, from its events, for GET /metrics.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/event.h"

namespace paddock::record {

class EventCounters {
 public:
  using Counts = std::map<std::string, uint64_t>;

  void count(const Event& event);

  // Ends of sandboxes, by reason: one of a few words.
  const Counts& ends() const { return ends_; }
  const Counts& limits() const { return limits_; }    // that bit, by name
  const Counts& denials() const { return denials_; }  // by layer
  // Redactions by kind. "secret" stands for a known value or a pattern of a policy.
  const Counts& redactions() const { return redactions_; }
  const Counts& rules() const { return rules_; }  // of [monitor] that held, by name

 private:
  // Names may come from policies, so their number is bounded.
  static constexpr size_t kMostNames = 200;
  static void add(Counts& counts, const std::string& name, uint64_t more = 1);

  Counts ends_, limits_, denials_, redactions_, rules_;
};

// "killed", "timeout", "idle", "limit", "monitor", "failed" or "other".
std::string reason_of(const std::string& because);

}  // namespace paddock::record
