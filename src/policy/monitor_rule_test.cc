#include "policy/monitor_rule.h"

#include <cmath>

#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

const MonitorMetricInfo& metric_of(const Value& entry) {
  for (const MonitorMetricInfo& metric : kMonitorMetrics)
    if (text_of(entry, "metric") == metric.name) return metric;
  ADD_FAILURE() << "no such metric";
  return kMonitorMetrics[0];
}

}  // namespace

TEST(MonitorRule, TheTableIsInTheOrderOfTheMetrics) {
  for (size_t i = 0; i < kMonitorMetricCount; ++i)
    EXPECT_EQ(static_cast<size_t>(kMonitorMetrics[i].metric), i);
}

TEST(MonitorRule, ReadsOrRefusesEveryCase) {
  for (const Value& entry : test_cases("monitor.toml", "rule")) {
    SCOPED_TRACE(cat(text_of(entry, "metric"), " ", text_of(entry, "text")));
    Result<MonitorRule> rule =
        parse_monitor_rule(MonitorAction::kill, metric_of(entry).metric, text_of(entry, "text"));
    if (entry.find("error")) {
      ASSERT_FALSE(rule) << rule.value().text;
      EXPECT_EQ(rule.error().code, Code::invalid);
      EXPECT_NE(rule.error().message.find(text_of(entry, "error")), std::string::npos)
          << rule.error().message;
      continue;
    }
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_EQ(rule.value().text, text_of(entry, "rule"));
    EXPECT_EQ(rule.value().name, cat("monitor.kill_if.", text_of(entry, "metric")));
    EXPECT_EQ(rule.value().of_limit, entry.find("of_limit") != nullptr);
    EXPECT_EQ(rule.value().for_ms,
              entry.find("for_ms") ? static_cast<uint64_t>(*entry.find("for_ms")->as_int()) : 0);
    if (const Value* above = entry.find("above")) {
      EXPECT_EQ(rule.value().above, *above->as_double());
    }

    Result<MonitorRule> again =
        parse_monitor_rule(MonitorAction::kill, metric_of(entry).metric, rule.value().text);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again.value().text, rule.value().text);
    EXPECT_EQ(again.value().above, rule.value().above);
    EXPECT_EQ(again.value().for_ms, rule.value().for_ms);
  }
}

TEST(MonitorRule, AtLeastHoldsWhereItIsReachedAndNotBelow) {
  double full =
      parse_monitor_rule(MonitorAction::kill, MonitorMetric::memory, ">=90%").value().above;
  for (uint64_t limit : {1ull << 20, 512ull << 20, 3ull << 40}) {
    double ninth = 0.9 * static_cast<double>(limit);
    EXPECT_GT(std::ceil(ninth), full / 100 * static_cast<double>(limit));
    EXPECT_LT(std::floor(ninth) - 4096, full / 100 * static_cast<double>(limit));
  }
  EXPECT_GT(
      100.0,
      parse_monitor_rule(MonitorAction::warn, MonitorMetric::throttled, ">=100%").value().above);
}

}  // namespace paddock::policy
