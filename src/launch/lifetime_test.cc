#include "launch/lifetime.h"

#include <gtest/gtest.h>

namespace paddock::launch {
namespace {

constexpr uint64_t kSecond = 1'000'000;

TEST(Lifetime, WithoutAServerItEndsOnTime) {
  Lifetime lifetime;
  lifetime.set({.left_ms = 8'000}, 1 * kSecond);
  lifetime.server_gone(2 * kSecond);
  EXPECT_EQ(lifetime.next(2 * kSecond), 9 * kSecond);
  EXPECT_FALSE(lifetime.due(8 * kSecond));
  ASSERT_TRUE(lifetime.due(9 * kSecond));
  EXPECT_EQ(lifetime.due(9 * kSecond)->because, "timeout");
  EXPECT_EQ(lifetime.due(9 * kSecond)->action, Lifetime::Action::kill);
}

TEST(Lifetime, AServerHasTimeToDoItItself) {
  Lifetime lifetime;
  lifetime.set({.left_ms = 8'000}, 1 * kSecond);
  EXPECT_FALSE(lifetime.due(10 * kSecond));
  EXPECT_TRUE(lifetime.due(30 * kSecond));
}

TEST(Lifetime, WithoutAnEndItLivesOn) {
  Lifetime lifetime;
  lifetime.set({.left_ms = 8'000}, 0);
  lifetime.set({}, 0);
  lifetime.server_gone(0);
  EXPECT_EQ(lifetime.next(0), 0u);
  EXPECT_FALSE(lifetime.due(1000 * kSecond));
}

TEST(Lifetime, IdleTimeCountsFromTheServersEnd) {
  Lifetime lifetime;
  lifetime.set({.idle_ms = 3'000, .pause = true, .keep_memory = true}, 0);
  EXPECT_FALSE(lifetime.due(100 * kSecond));
  lifetime.server_gone(100 * kSecond);
  EXPECT_FALSE(lifetime.due(102 * kSecond));
  ASSERT_TRUE(lifetime.due(103 * kSecond));
  EXPECT_EQ(lifetime.due(103 * kSecond)->action, Lifetime::Action::pause);
  lifetime.server_came();
  EXPECT_FALSE(lifetime.due(200 * kSecond));
}

TEST(Lifetime, APauseThatFailedIsTriedLater) {
  Lifetime lifetime;
  lifetime.set({.left_ms = 1'000, .pause = true}, 0);
  lifetime.server_gone(0);
  ASSERT_TRUE(lifetime.due(1 * kSecond));
  EXPECT_EQ(lifetime.due(1 * kSecond)->action, Lifetime::Action::pause_files);
  lifetime.defer(31 * kSecond);
  EXPECT_FALSE(lifetime.due(30 * kSecond));
  EXPECT_TRUE(lifetime.due(31 * kSecond));
}

TEST(Lifetime, RulesAreJudgedOnlyWithoutAServer) {
  Lifetime lifetime;
  RuleOrder order{.first = true, .rule = {}, .every_ms = 1000, .limit = 0};
  order.rule = {.action = MonitorAction::kill,
                .metric = MonitorMetric::memory,
                .above = 100,
                .name = "monitor.kill_if.memory",
                .text = ">100"};
  std::optional<RuleOrder> arrived = RuleOrder::from_record(order.to_record());
  ASSERT_TRUE(arrived);
  lifetime.add_rule(*arrived);
  EXPECT_FALSE(lifetime.wants_usage(5 * kSecond));
  EXPECT_FALSE(lifetime.judge({.memory = 200}, 5 * kSecond));
  lifetime.server_gone(6 * kSecond);
  EXPECT_TRUE(lifetime.wants_usage(6 * kSecond));
  EXPECT_FALSE(lifetime.judge({.memory = 100}, 6 * kSecond));
  EXPECT_FALSE(lifetime.wants_usage(6 * kSecond));
  std::optional<Lifetime::Due> due = lifetime.judge({.memory = 200}, 7 * kSecond);
  ASSERT_TRUE(due);
  EXPECT_EQ(due->action, Lifetime::Action::kill);
  ASSERT_TRUE(due->limit);
  EXPECT_EQ(due->limit->rule, "monitor.kill_if.memory");
  EXPECT_EQ(due->limit->peak, 200u);
}

}  // namespace
}  // namespace paddock::launch
