#include "monitor/history.h"

#include <gtest/gtest.h>

namespace paddock::monitor {
namespace {

UsageSample busy(int64_t second) {
  return {.time_ms = second * 1000,
          .cpu_percent = static_cast<double>(second % 97),
          .memory = static_cast<uint64_t>(second) * 4096,
          .pids = 3};
}

TEST(History, HasNothingAtFirst) {
  History history;
  EXPECT_EQ(history.latest(), nullptr);
  EXPECT_TRUE(history.recent().empty());
  EXPECT_TRUE(history.hour().empty());
  EXPECT_EQ(history.bytes(), 0u);
}

TEST(History, KeepsTheLastOnesInOrder) {
  History history;
  for (int64_t second = 1; second <= 500; ++second) history.add(busy(second));
  std::vector<UsageSample> recent = history.recent();
  ASSERT_EQ(recent.size(), History::kRecent);
  for (size_t i = 0; i < recent.size(); ++i)
    EXPECT_EQ(recent[i].time_ms, static_cast<int64_t>(500 - recent.size() + 1 + i) * 1000);
  EXPECT_EQ(history.latest()->time_ms, 500'000);
  EXPECT_EQ(recent.back().memory, 500u * 4096);
}

TEST(History, TheHourHasOneOfFive) {
  History history;
  for (int64_t second = 0; second < 7200; ++second) history.add(busy(second));
  std::vector<UsageSample> hour = history.hour();
  ASSERT_EQ(hour.size(), History::kHour);
  for (size_t i = 1; i < hour.size(); ++i)
    EXPECT_EQ(hour[i].time_ms - hour[i - 1].time_ms, History::kHourEveryMs);
  EXPECT_EQ(hour.back().memory / 4096, static_cast<uint64_t>(hour.back().time_ms / 1000));
  EXPECT_EQ(hour.back().pids, 3u);
}

TEST(History, AnIdleSandboxNeedsNextToNothing) {
  History history;
  for (int64_t second = 0; second < 7200; ++second)
    history.add(
        {.time_ms = second * 1000, .cpu_percent = second % 2 ? 0.01 : 0.02, .memory = 1 << 20});
  EXPECT_EQ(history.recent().size(), History::kRecent);
  EXPECT_EQ(history.hour().size(), History::kHour);
  EXPECT_EQ(history.recent().front().time_ms, (7200 - 120) * 1000);
  EXPECT_EQ(history.recent().back().time_ms, 7199 * 1000);
  EXPECT_LT(history.bytes(), 1024u);
}

TEST(History, ABusyOneStaysBelowSixtyKilobytes) {
  History history;
  for (int64_t second = 0; second < 7200; ++second) history.add(busy(second));
  EXPECT_LT(history.bytes(), 60u << 10);
}

TEST(History, GivesRoomBackWhenASandboxFallsIdle) {
  History history;
  for (int64_t second = 0; second < 7200; ++second) history.add(busy(second));
  for (int64_t second = 7200; second < 14'400; ++second)
    history.add({.time_ms = second * 1000, .memory = 4096});
  EXPECT_LT(history.bytes(), 4096u);
  EXPECT_EQ(history.recent().size(), History::kRecent);
  EXPECT_EQ(history.recent().back().time_ms, 14'399'000);
}

TEST(History, AClockThatIsSetBackLosesNoSamples) {
  History history;
  for (int64_t second = 1000; second < 1010; ++second) history.add(busy(second));
  for (int64_t second = 10; second < 20; ++second)
    history.add({.time_ms = second * 1000, .memory = 7});
  EXPECT_EQ(history.recent().size(), 20u);
  EXPECT_EQ(history.recent().back().time_ms, 19'000);
  EXPECT_GE(history.hour().size(), 4u);
}

}  // namespace
}  // namespace paddock::monitor
