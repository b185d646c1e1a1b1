// When a living sandbox ends or pauses by itself. Its server sees to that; this is what the keeper
// does when there is no server, or one that hangs: the same times and the same rules, as far as a
// keeper can see them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/channel.h"
#include "monitor/judge.h"
#include "monitor/meter.h"

namespace paddock::launch {

// What the server ordered last, and whether there is a server. Times are in µs of CLOCK_MONOTONIC.
class Lifetime {
 public:
  // pause_files ends the processes and keeps the files.
  enum class Action : uint8_t { kill, pause, pause_files };
  struct Due {
    std::string because;  // "timeout", "idle timeout", or the rule that held
    Action action = Action::kill;
    std::optional<LimitHit> limit;
  };

  void set(const LifetimeOrder& order, uint64_t now);
  void add_rule(const RuleOrder& order);
  void server_came();
  void server_gone(uint64_t now);
  // Called when what was due could not be done: it is not due again before `until`.
  void defer(uint64_t until) { deferred_ = until; }
  // Rules do not apply to a sandbox that is paused.
  void paused(bool is_paused);

  // When to look next; 0 means never.
  uint64_t next(uint64_t now) const;
  // What is due by time, if anything is.
  std::optional<Due> due(uint64_t now) const;
  bool wants_usage(uint64_t now) const { return next_sample_ != 0 && now >= next_sample_; }
  // What is due by a rule that holds with this usage, if one does.
  std::optional<Due> judge(const LivingUsage& usage, uint64_t now);

 private:
  // A server that is connected has this long to act by itself before it counts as hung.
  static constexpr uint64_t kHungServer = 10'000'000;

  void begin_rules(uint64_t now);
  Action on_timeout() const;
  uint64_t ends_at() const;
  uint64_t idle_at() const;

  LifetimeOrder order_;
  uint64_t deadline_ = 0, gone_since_ = 0, next_sample_ = 0, deferred_ = 0;
  bool has_server_ = true, paused_ = false;
  std::vector<MonitorRule> rules_;
  Limits limits_;
  uint64_t every_ms_ = monitor::kEveryMs;
  std::unique_ptr<monitor::Judge> judge_;
  monitor::Meter meter_;
};

}  // namespace paddock::launch
