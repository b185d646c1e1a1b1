// Compares samples with the rules of [monitor]. Pure: the time comes with the samples.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/policy.h"
#include "paddock/sandbox.h"

namespace paddock::monitor {

// The usual interval of samples, and the shortest that a policy may ask for.
constexpr uint64_t kEveryMs = 1'000, kLeastEveryMs = 100;
uint64_t every_ms(const MonitorPolicy& policy);  // between two samples

// A rule that holds.
struct Finding {
  const MonitorRule* rule;
  double threshold = 0;  // in the metric's unit, also where the rule is a percentage of a limit
  double value = 0;      // now
  double peak = 0;       // since it began to hold
  int64_t held_ms = 0;
};
LimitHit to_hit(const Finding& finding);
// Why the sandbox ended: "limit monitor.kill_if.memory >100M (112M)".
std::string because(const Finding& finding);

class Judge {
 public:
  // `limits` are the sandbox's, for rules in percent of them. A rule without a limit to be a
  // percentage of never holds (the policy refuses it earlier).
  Judge(std::vector<MonitorRule> rules, const Limits& limits, uint64_t every_ms = kEveryMs);

  // The rules that hold from this sample on. Each is reported once, and again only after it did not
  // hold for a sample. Between two samples at most three times the usual interval counts, since
  // otherwise nobody looked, or somebody set the clock.
  std::vector<Finding> judge(const UsageSample& sample);
  bool empty() const { return rules_.empty(); }

 private:
  struct State {
    MonitorRule rule;
    double threshold = 0;
    bool holds = false, told = false;
    int64_t held_ms = 0;
    double peak = 0;
  };
  std::vector<State> rules_;
  int64_t most_ms_;                 // that one sample adds
  std::optional<int64_t> last_ms_;  // of the sample before
};

// Negative if the kernel does not report it.
double value_of(MonitorMetric metric, const UsageSample& sample);
const char* name_of(MonitorMetric metric);
// Whether the metric is expensive to read, and so not read with each sample unless a rule needs it.
bool is_dear(MonitorMetric metric);
// A value in the metric's unit, for people: "99.7%", "512M", "20M/s", "64".
std::string describe(MonitorMetric metric, double value);
// The same by a rule's name: "monitor.kill_if.cpu".
std::string describe(std::string_view rule, double value);

}  // namespace paddock::monitor
