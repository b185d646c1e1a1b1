// A rule of [monitor]: ">80% for 10s", ">512M", ">=100", ">5M/s for 3s". The sign may be left out
// and is then ">".
#pragma once

#include <string_view>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

// Refuses what cannot be compared with the metric, what would never hold and what always would.
Result<MonitorRule> parse_monitor_rule(MonitorAction action, MonitorMetric metric,
                                       std::string_view text);

// Code::denied for a rule in percent of a limit that the policy does not set.
Result<void> check_monitor_rules(const Policy& policy);

}  // namespace paddock::policy
