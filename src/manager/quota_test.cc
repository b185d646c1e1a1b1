#include "manager/quota.h"

#include <gtest/gtest.h>

#include <vector>

namespace paddock::manager {

TEST(Ledger, ThousandsOfAsksNeverExceedTheQuota) {
  Ledger ledger(0);
  Quota quota{.sandboxes = 10, .memory_bytes = 50};
  std::vector<std::unique_ptr<Ledger::Charge>> held;
  for (int i = 0; i < 1000; ++i) {
    Result<std::unique_ptr<Ledger::Charge>> charge =
        ledger.charge("a", quota, {.sandboxes = 1, .memory_bytes = 10});
    if (charge) held.push_back(std::move(charge).value());
  }
  EXPECT_EQ(held.size(), 5u);
  EXPECT_EQ(ledger.used("a").memory_bytes, 50u);
  held.pop_back();
  EXPECT_TRUE(ledger.charge("a", quota, {.sandboxes = 1, .memory_bytes = 10}));
  held.clear();
  EXPECT_EQ(ledger.used("a").memory_bytes, 0u);
  EXPECT_EQ(ledger.sandboxes(), 0u);
}

TEST(Ledger, SaysWhatIsUsedUp) {
  Ledger ledger(0);
  Result<std::unique_ptr<Ledger::Charge>> charge =
      ledger.charge("a", {.memory_bytes = 1 << 20}, {.sandboxes = 1, .memory_bytes = 2 << 20});
  ASSERT_FALSE(charge);
  EXPECT_EQ(charge.error().code, Code::exhausted);
  EXPECT_EQ(charge.error().message, "quota: memory: 2M asked for, 0 of 1M in use");
}

TEST(Ledger, CapsAllTenantsTogetherAndKeepsThemApart) {
  Ledger ledger(2);
  auto one = ledger.charge("a", {.sandboxes = 1}, {.sandboxes = 1});
  ASSERT_TRUE(one);
  EXPECT_FALSE(ledger.charge("a", {.sandboxes = 1}, {.sandboxes = 1}));
  auto two = ledger.charge("b", {.sandboxes = 1}, {.sandboxes = 1});
  EXPECT_TRUE(two);
  EXPECT_FALSE(ledger.charge("c", {}, {.sandboxes = 1}));
  EXPECT_TRUE(ledger.charge("c", {}, {.disk_bytes = 5}));  // not a sandbox
}

TEST(Ledger, GrowsOnlyByWhatIsLeft) {
  Ledger ledger(0);
  Quota quota{.memory_bytes = 10, .disk_bytes = 10};
  auto paused = ledger.charge("a", quota, {.disk_bytes = 8});
  auto other = ledger.charge("a", quota, {.memory_bytes = 7, .disk_bytes = 2});
  ASSERT_TRUE(paused && other);
  EXPECT_FALSE(ledger.grow(*paused.value(), quota, {.memory_bytes = 4, .disk_bytes = 8}));
  EXPECT_TRUE(ledger.grow(*paused.value(), quota, {.memory_bytes = 3, .disk_bytes = 8}));
  EXPECT_EQ(ledger.used("a").disk_bytes, 10u);
}

TEST(Ledger, CountsStartsWithinAMinute) {
  Ledger ledger(0);
  Quota quota{.starts_per_minute = 2};
  EXPECT_TRUE(ledger.count_start("a", quota, 1000));
  EXPECT_TRUE(ledger.count_start("a", quota, 31'000));
  Result<void> third = ledger.count_start("a", quota, 40'000);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().hint, "try again in 21 s");
  EXPECT_TRUE(ledger.count_start("b", quota, 40'000));
  EXPECT_TRUE(ledger.count_start("a", quota, 61'000));
}

}  // namespace paddock::manager
