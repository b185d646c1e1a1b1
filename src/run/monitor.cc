#include "run/monitor.h"

#include "base/event.h"
#include "base/text.h"
#include "launch/watch.h"

namespace paddock::runs {

namespace {

// A rule may hold at every sample, so the list of warnings is bounded.
constexpr size_t kMostWarnings = 100;

std::vector<std::string> groups_of(const launch::Plan& plan) {
  std::vector<std::string> directories;
  for (const kernel::CgroupPlan& group : plan.cgroups) directories.push_back(group.directory);
  return directories;
}

}  // namespace

RunMonitor::RunMonitor(const Policy& policy, const launch::Plan& plan)
    : every_ms_(monitor::every_ms(policy.monitor)),
      sampler_(groups_of(plan), plan.container ? 1 : 0),
      judge_(policy.monitor.rules, policy.limits, every_ms_) {}

void RunMonitor::begin() {
  reading_.net_known = true;
  meter_.begin(reading_, static_cast<int64_t>(launch::now_us()));
}

bool RunMonitor::take(const launch::LivingUsage& usage, const LiveNetwork* network) {
  reading_.cpu_us = usage.cpu_us;
  reading_.memory = usage.memory;
  reading_.memory_file = usage.memory_cache;
  reading_.memory_peak = usage.memory_peak;
  reading_.pids = usage.pids;
  reading_.disk = usage.disk;
  reading_.oom_kills = usage.oom_kills;
  if (network) {
    reading_.net_up = network->up;
    reading_.net_down = network->down;
    reading_.connections = network->connections;
    reading_.net_time_ms = network->time_ms;
  }
  // Where there are cgroups they say more, and about this very moment.
  (void)sampler_.read(reading_, true);
  UsageSample sample =
      meter_.measure(reading_, static_cast<int64_t>(launch::now_us()), wall_clock_us() / 1000);
  history_.add(sample);
  if (ended_by_) return false;
  for (const monitor::Finding& finding : judge_.judge(sample)) {
    LimitHit hit = monitor::to_hit(finding);
    bool kills = finding.rule->action == MonitorAction::kill;
    if (!kills && warnings_.size() < kMostWarnings)
      warnings_.push_back(cat(hit.rule, " ", hit.text, ": ",
                              monitor::describe(finding.rule->metric, finding.value)));
    if (on_finding) on_finding(kills ? "monitor.kill" : "monitor.warn", hit);
    if (kills && !ended_by_) ended_by_ = std::move(hit);
  }
  return ended_by_.has_value();
}

}  // namespace paddock::runs
