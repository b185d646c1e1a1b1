// The rules of [monitor], applied to one run. Nobody makes one of these without rules, and then
// nothing is sampled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/channel.h"
#include "launch/plan.h"
#include "monitor/history.h"
#include "monitor/judge.h"
#include "monitor/meter.h"
#include "monitor/sampler.h"
#include "paddock/policy.h"
#include "run/egress.h"

namespace paddock::runs {

class RunMonitor {
 public:
  // `plan` says which cgroups the run has, and so what can be read without asking the keeper.
  RunMonitor(const Policy& policy, const launch::Plan& plan);

  uint64_t every_ms() const { return every_ms_; }
  // Called when the program starts: rates are measured from here.
  void begin();
  // Takes what the keeper says is used, and the network's sums. Returns whether the run has to end.
  bool take(const launch::LivingUsage& usage, const LiveNetwork* network);

  // Called for each finding; `kind` is "monitor.warn" or "monitor.kill".
  std::function<void(const char* kind, const LimitHit& hit)> on_finding;

  const std::optional<LimitHit>& ended_by() const { return ended_by_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  std::vector<UsageSample> history() const { return history_.recent(); }

 private:
  uint64_t every_ms_;
  monitor::Sampler sampler_;
  monitor::Meter meter_;
  monitor::Judge judge_;
  monitor::History history_;
  monitor::Reading reading_;
  std::optional<LimitHit> ended_by_;
  std::vector<std::string> warnings_;
};

}  // namespace paddock::runs
