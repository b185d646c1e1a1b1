#include "monitor/judge.h"

#include <gtest/gtest.h>

namespace paddock::monitor {
namespace {

MonitorRule rule(MonitorMetric metric, double above, uint64_t for_ms = 0,
                 MonitorAction action = MonitorAction::kill) {
  return {.action = action,
          .metric = metric,
          .above = above,
          .for_ms = for_ms,
          .name = std::string("monitor.kill_if.") + info(metric).name,
          .text = ">"};
}

UsageSample cpu_at(int64_t ms, double percent) { return {.time_ms = ms, .cpu_percent = percent}; }

TEST(Judge, TellsOneSampleAboveAtOnce) {
  Judge judge({rule(MonitorMetric::cpu, 80)}, {});
  EXPECT_TRUE(judge.judge(cpu_at(1000, 80)).empty());
  std::vector<Finding> found = judge.judge(cpu_at(2000, 80.1));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0].value, 80.1);
}

TEST(Judge, TellsEachRuleOnceUntilItHasNotHeld) {
  Judge judge({rule(MonitorMetric::cpu, 80)}, {});
  EXPECT_EQ(judge.judge(cpu_at(1000, 90)).size(), 1u);
  EXPECT_TRUE(judge.judge(cpu_at(2000, 95)).empty());
  EXPECT_TRUE(judge.judge(cpu_at(3000, 10)).empty());
  EXPECT_EQ(judge.judge(cpu_at(4000, 90)).size(), 1u);
}

TEST(Judge, CountsARateFromTheSampleBefore) {
  Judge judge({rule(MonitorMetric::cpu, 80, 3000)}, {});
  (void)judge.judge(cpu_at(0, 0));
  EXPECT_TRUE(judge.judge(cpu_at(1000, 90)).empty());
  EXPECT_TRUE(judge.judge(cpu_at(2000, 99)).empty());
  std::vector<Finding> found = judge.judge(cpu_at(3000, 85));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0].peak, 99);
  EXPECT_EQ(found[0].held_ms, 3000);
}

TEST(Judge, CountsALevelFromTheSampleThatShowsIt) {
  Judge judge({rule(MonitorMetric::memory, 100, 2000)}, {});
  (void)judge.judge({.time_ms = 0});
  EXPECT_TRUE(judge.judge({.time_ms = 1000, .memory = 101}).empty());
  EXPECT_TRUE(judge.judge({.time_ms = 2000, .memory = 101}).empty());
  EXPECT_EQ(judge.judge({.time_ms = 3000, .memory = 101}).size(), 1u);
}

TEST(Judge, OneSampleBelowBeginsAnew) {
  Judge judge({rule(MonitorMetric::cpu, 80, 3000)}, {});
  (void)judge.judge(cpu_at(0, 0));
  (void)judge.judge(cpu_at(1000, 90));
  (void)judge.judge(cpu_at(2000, 90));
  (void)judge.judge(cpu_at(2500, 80));
  EXPECT_TRUE(judge.judge(cpu_at(3500, 90)).empty());
  EXPECT_TRUE(judge.judge(cpu_at(4500, 90)).empty());
  EXPECT_EQ(judge.judge(cpu_at(5500, 90)).size(), 1u);
}

TEST(Judge, AGapCountsForThreeSamplesAtMost) {
  Judge judge({rule(MonitorMetric::cpu, 80, 10'000)}, {}, 1000);
  (void)judge.judge(cpu_at(0, 0));
  EXPECT_TRUE(judge.judge(cpu_at(1000, 90)).empty());
  EXPECT_TRUE(judge.judge(cpu_at(3'601'000, 90)).empty());  // an hour during which nobody looked
  EXPECT_TRUE(judge.judge(cpu_at(3'606'000, 90)).empty());
  // One that is looked at seldom is told late, not never.
  EXPECT_EQ(judge.judge(cpu_at(3'611'000, 90)).size(), 1u);
}

TEST(Judge, AClockSetBackAddsNothingAndLosesNothing) {
  Judge judge({rule(MonitorMetric::cpu, 80, 3000)}, {});
  (void)judge.judge(cpu_at(100'000, 0));
  (void)judge.judge(cpu_at(101'000, 90));
  (void)judge.judge(cpu_at(102'000, 90));
  EXPECT_TRUE(judge.judge(cpu_at(50'000, 90)).empty());
  EXPECT_EQ(judge.judge(cpu_at(51'000, 90)).size(), 1u);
}

TEST(Judge, PercentOfALimitNeedsTheLimit) {
  MonitorRule of_limit = rule(MonitorMetric::memory, 90);
  of_limit.of_limit = true;
  Judge none({of_limit}, {});
  EXPECT_TRUE(none.judge({.time_ms = 1000, .memory = UINT64_MAX}).empty());
  Limits limits;
  limits[LimitKind::memory] = 1000;
  Judge some({of_limit}, limits);
  EXPECT_TRUE(some.judge({.time_ms = 1000, .memory = 900}).empty());
  std::vector<Finding> found = some.judge({.time_ms = 2000, .memory = 901});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0].threshold, 900);
}

TEST(Judge, WhatTheKernelDoesNotTellNeverHolds) {
  Judge judge({rule(MonitorMetric::pressure_io, -2)}, {});
  EXPECT_TRUE(judge.judge({.time_ms = 1000}).empty());
  EXPECT_EQ(judge.judge({.time_ms = 2000, .pressure_io = 1}).size(), 1u);
}

TEST(Judge, SumsBothDirectionsOfTheNetwork) {
  UsageSample sample{.net_up = 5, .net_down = 6, .net_up_rate = 1, .net_down_rate = 2};
  EXPECT_DOUBLE_EQ(value_of(MonitorMetric::net, sample), 3);
  EXPECT_DOUBLE_EQ(value_of(MonitorMetric::net_total, sample), 11);
}

TEST(Judge, AHitNamesTheRuleAndKeepsFractions) {
  MonitorRule written = rule(MonitorMetric::cpu, 80, 10'000);
  written.text = ">80% for 10s";
  LimitHit hit = to_hit({.rule = &written, .threshold = 80, .value = 90, .peak = 99.7});
  EXPECT_EQ(hit.rule, "monitor.kill_if.cpu");
  EXPECT_EQ(hit.text, ">80% for 10s");
  EXPECT_DOUBLE_EQ(hit.exact_peak, 99.7);
  EXPECT_EQ(hit.peak, 100u);
}

TEST(Judge, DescribesValuesInTheUnitOfTheirMetric) {
  EXPECT_EQ(describe(MonitorMetric::cpu, 99.71), "99.7%");
  EXPECT_EQ(describe(MonitorMetric::pids, 64), "64");
  EXPECT_EQ(describe("monitor.kill_if.pids", 64), "64");
  EXPECT_NE(describe(MonitorMetric::net, 1 << 20).find("/s"), std::string::npos);
}

TEST(Judge, SamplesAreNeverCloserThanATenthOfASecond) {
  EXPECT_EQ(every_ms({}), 1000u);
  EXPECT_EQ(every_ms({.every_ms = 1}), kLeastEveryMs);
}

}  // namespace
}  // namespace paddock::monitor
