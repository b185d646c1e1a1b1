#include "monitor/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace paddock::monitor {

namespace {

// Infinity never holds.
double threshold_of(const MonitorRule& rule, const Limits& limits) {
  if (!rule.of_limit) return rule.above;
  std::optional<LimitKind> kind = info(rule.metric).limit;
  if (!kind || !limits[*kind]) return INFINITY;
  return rule.above / 100 * static_cast<double>(*limits[*kind]);
}

// Whether the metric describes the time since the sample before, and not an instant.
bool is_rate(MonitorMetric metric) {
  return metric == MonitorMetric::cpu || metric == MonitorMetric::throttled ||
         info(metric).unit == MonitorUnit::bytes_per_second;
}

}  // namespace

uint64_t every_ms(const MonitorPolicy& policy) {
  return std::max(policy.every_ms.value_or(kEveryMs), kLeastEveryMs);
}

const char* name_of(MonitorMetric metric) { return info(metric).name; }

double value_of(MonitorMetric metric, const UsageSample& sample) {
  auto number = [](uint64_t value) { return static_cast<double>(value); };
  switch (metric) {
    case MonitorMetric::cpu: return sample.cpu_percent;
    case MonitorMetric::memory: return number(sample.memory);
    case MonitorMetric::pids: return number(sample.pids);
    case MonitorMetric::disk: return number(sample.disk);
    case MonitorMetric::disk_read: return number(sample.disk_read_rate);
    case MonitorMetric::disk_write: return number(sample.disk_write_rate);
    case MonitorMetric::net: return number(sample.net_up_rate) + number(sample.net_down_rate);
    case MonitorMetric::net_up: return number(sample.net_up_rate);
    case MonitorMetric::net_down: return number(sample.net_down_rate);
    case MonitorMetric::net_total: return number(sample.net_up) + number(sample.net_down);
    case MonitorMetric::connections: return number(sample.connections);
    case MonitorMetric::pressure_cpu: return sample.pressure_cpu;
    case MonitorMetric::pressure_memory: return sample.pressure_memory;
    case MonitorMetric::pressure_io: return sample.pressure_io;
    case MonitorMetric::throttled: return sample.throttled_percent;
    case MonitorMetric::oom: return number(sample.oom_kills);
  }
  return -1;
}

bool is_dear(MonitorMetric metric) {
  switch (metric) {
    case MonitorMetric::disk_read:
    case MonitorMetric::disk_write:
    case MonitorMetric::pressure_cpu:
    case MonitorMetric::pressure_memory:
    case MonitorMetric::pressure_io:
    case MonitorMetric::throttled:
    case MonitorMetric::oom: return true;
    default: return false;
  }
}

std::string describe(MonitorMetric metric, double value) {
  char percent[40];
  switch (info(metric).unit) {
    case MonitorUnit::percent:
      (void)std::snprintf(percent, sizeof percent, "%.1f%%", value);
      return percent;
    case MonitorUnit::bytes: return human_size(static_cast<uint64_t>(value));
    case MonitorUnit::bytes_per_second: return human_size(static_cast<uint64_t>(value)) + "/s";
    case MonitorUnit::count: break;
  }
  return std::to_string(static_cast<uint64_t>(value));
}

std::string describe(std::string_view rule, double value) {
  std::string_view metric = rule.substr(rule.rfind('.') + 1);
  for (const MonitorMetricInfo& known : kMonitorMetrics)
    if (metric == known.name) return describe(known.metric, value);
  return std::to_string(value);
}

// A hit needs a limit's kind; a rule without one takes any, since its own name is shown instead.
LimitHit to_hit(const Finding& finding) {
  const MonitorRule& rule = *finding.rule;
  LimitHit hit{.limit = info(rule.metric).limit.value_or(LimitKind::cpu)};
  hit.value = static_cast<uint64_t>(finding.threshold);
  hit.peak = static_cast<uint64_t>(std::round(finding.peak));
  hit.rule = rule.name;
  hit.text = rule.text;
  hit.exact_value = finding.threshold;
  hit.exact_peak = finding.peak;
  return hit;
}

std::string because(const Finding& finding) {
  return cat("limit ", finding.rule->name, " ", finding.rule->text, " (",
             describe(finding.rule->metric, finding.peak), ")");
}

Judge::Judge(std::vector<MonitorRule> rules, const Limits& limits, uint64_t every_ms)
    : most_ms_(static_cast<int64_t>(every_ms) * 3) {
  rules_.reserve(rules.size());
  for (MonitorRule& rule : rules) {
    double threshold = threshold_of(rule, limits);
    rules_.push_back({.rule = std::move(rule), .threshold = threshold});
  }
}

std::vector<Finding> Judge::judge(const UsageSample& sample) {
  std::vector<Finding> found;
  int64_t passed = last_ms_ ? std::clamp<int64_t>(sample.time_ms - *last_ms_, 0, most_ms_) : 0;
  last_ms_ = sample.time_ms;
  for (State& state : rules_) {
    double value = value_of(state.rule.metric, sample);
    if (value < 0 || value <= state.threshold) {
      state.holds = state.told = false;
      state.held_ms = 0;
      state.peak = 0;
      continue;
    }
    // A rate above the threshold has been there since the sample before; a level may have risen
    // this instant.
    if (state.holds || is_rate(state.rule.metric)) state.held_ms += passed;
    state.holds = true;
    state.peak = std::max(state.peak, value);
    if (state.told || state.held_ms < static_cast<int64_t>(state.rule.for_ms)) continue;
    state.told = true;
    found.push_back({.rule = &state.rule,
                     .threshold = state.threshold,
                     .value = value,
                     .peak = state.peak,
                     .held_ms = state.held_ms});
  }
  return found;
}

}  // namespace paddock::monitor
