#include "tools/decide/rates.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <random>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::tools {
namespace {

constexpr int64_t kMs = 1'000'000;

policy::Rate window(uint64_t count, int64_t period_ms) { return {count, period_ms, 0, ""}; }
policy::Rate bucket(uint64_t count, int64_t period_ms, uint64_t burst) {
  return {count, period_ms, burst, ""};
}

class RatesTest : public testing::Test {
 protected:
  RatesTest() {
    char name[] = "/tmp/paddock-rates-XXXXXX";
    directory = std::string(::mkdtemp(name)) + "/tools";
  }
  ~RatesTest() override {
    std::filesystem::remove_all(std::filesystem::path(directory).parent_path());
  }

  // Clocks that only the test turns.
  Clocks clocks() {
    return {[this] { return since_boot; }, [this] { return of_day; }, boot};
  }
  std::unique_ptr<Rates> open() {
    Result<std::unique_ptr<Rates>> rates = Rates::open(directory, clocks());
    if (!rates) ADD_FAILURE() << rates.error().message;
    return std::move(rates).value();
  }
  static bool take(Rates& rates, const policy::Rate& rate, const std::string& key = "tool t") {
    Result<std::optional<Rates::Refused>> refused = rates.take({{key, rate, "tools.t.rate"}});
    if (!refused) ADD_FAILURE() << refused.error().message;
    return refused && !refused.value();
  }
  static int64_t wait_ms(Rates& rates, const policy::Rate& rate) {
    Result<std::optional<Rates::Refused>> refused = rates.look({{"tool t", rate, "tools.t.rate"}});
    return refused && refused.value() ? refused.value()->retry_after_ms : 0;
  }
  void pass(int64_t ms) { since_boot += ms * kMs, of_day += ms * kMs; }

  std::string directory, boot = "first";
  int64_t since_boot = 1'000'000 * kMs, of_day = 1'700'000'000'000 * kMs;
};

TEST_F(RatesTest, AWindowLetsItsNumberThroughAndSaysWhenThereIsRoomAgain) {
  auto rates = open();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(take(*rates, window(3, 60'000)));
    pass(1'000);
  }
  EXPECT_FALSE(take(*rates, window(3, 60'000)));
  EXPECT_EQ(wait_ms(*rates, window(3, 60'000)), 57'000);
  pass(56'999);
  EXPECT_FALSE(take(*rates, window(3, 60'000)));
  pass(1);
  EXPECT_TRUE(take(*rates, window(3, 60'000)));
  EXPECT_FALSE(take(*rates, window(3, 60'000)));
}

TEST_F(RatesTest, ABucketHoldsItsBurstAndFillsSteadily) {
  auto rates = open();
  policy::Rate rate = bucket(60, 60'000, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(*rates, rate));
  EXPECT_FALSE(take(*rates, rate));
  EXPECT_EQ(wait_ms(*rates, rate), 1'000);
  pass(1'000);
  EXPECT_TRUE(take(*rates, rate));
  EXPECT_FALSE(take(*rates, rate));
  pass(1'000'000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(*rates, rate));
  EXPECT_FALSE(take(*rates, rate));
}

TEST_F(RatesTest, AllOrNothingIsTaken) {
  auto rates = open();
  std::vector<Rates::Want> wants = {{"tool a", window(5, 60'000), "a"},
                                    {"calls", window(2, 60'000), "calls"}};
  EXPECT_FALSE(rates->take(wants).value());
  EXPECT_FALSE(rates->take(wants).value());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rates->take(wants).value()->which, 1u);
  // Two were used, not twelve.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(take(*rates, window(5, 60'000), "tool a"));
  EXPECT_FALSE(take(*rates, window(5, 60'000), "tool a"));
}

TEST_F(RatesTest, LookingTakesNothing) {
  auto rates = open();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(wait_ms(*rates, window(1, 60'000)), 0);
  EXPECT_TRUE(take(*rates, window(1, 60'000)));
  EXPECT_EQ(wait_ms(*rates, window(1, 60'000)), 60'000);
}

TEST_F(RatesTest, TwoRatesOfOnePeriodCountACallOnce) {
  auto rates = open();
  std::vector<Rates::Want> wants = {{"tool a", window(4, 60'000), "a"},
                                    {"tool a", window(9, 60'000), "a"}};
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(rates->take(wants).value());
  EXPECT_TRUE(rates->take(wants).value());
}

TEST_F(RatesTest, WhatWasCountedOutlivesARestartAndAChangedNumber) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(take(*open(), window(5, 60'000)));
  EXPECT_FALSE(take(*open(), window(5, 60'000)));
  EXPECT_TRUE(take(*open(), window(6, 60'000)));
  EXPECT_FALSE(take(*open(), window(2, 60'000)));
}

TEST_F(RatesTest, SettingTheTimeOfDayChangesNothing) {
  auto rates = open();
  EXPECT_TRUE(take(*rates, window(1, 60'000)));
  for (int64_t day : {int64_t{0}, of_day + 86'400'000 * kMs, INT64_MAX / 2}) {
    of_day = day;
    EXPECT_EQ(wait_ms(*rates, window(1, 60'000)), 60'000);
    EXPECT_FALSE(take(*open(), window(1, 60'000)));
  }
}

TEST_F(RatesTest, AfterARebootALongPeriodGoesOnByTheTimeOfDay) {
  constexpr int64_t kDay = 86'400'000;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(take(*open(), window(2, kDay)));
  boot = "second", since_boot = 5'000 * kMs, of_day += 3'600'000 * kMs;
  EXPECT_EQ(wait_ms(*open(), window(2, kDay)), kDay - 3'600'000);
  // Set back: nothing is gained.
  boot = "third", since_boot = 5'000 * kMs, of_day -= 7'200'000 * kMs;
  EXPECT_EQ(wait_ms(*open(), window(2, kDay)), kDay - 3'600'000);
  boot = "fourth", of_day += 1'000 * kDay * kMs;  // set forward: one period's worth, and no more
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(take(*open(), window(2, kDay)));
  EXPECT_FALSE(take(*open(), window(2, kDay)));
}

TEST_F(RatesTest, AfterARebootAShortPeriodIsFullUntilTheMachineRunsThatLong) {
  (void)open();
  EXPECT_TRUE(take(*open(), window(10, 60'000)));
  boot = "second", since_boot = 20'000 * kMs, of_day += 3'600'000 * kMs;
  EXPECT_EQ(wait_ms(*open(), window(10, 60'000)), 40'000);
  EXPECT_FALSE(take(*open(), bucket(10, 60'000, 10), "another"));
  pass(40'000);
  EXPECT_TRUE(take(*open(), window(10, 60'000)));
}

TEST_F(RatesTest, ALimitThatStillCountsIsNeverForgottenForAnother) {
  auto rates = open();
  int taken = 0;
  for (int i = 0; i < 3'000; ++i) {
    Result<std::optional<Rates::Refused>> result =
        rates->take({{cat("agent ", i), window(1, 60'000), "agent_rate"}});
    if (result)
      ++taken;
    else
      EXPECT_EQ(result.error().code, Code::exhausted);
  }
  EXPECT_EQ(taken, 2048);
  for (int i = 0; i < 2'048; ++i)
    EXPECT_TRUE(rates->take({{cat("agent ", i), window(1, 60'000), "agent_rate"}}).value()) << i;
  pass(60'000);  // now there is room for others
  for (int i = 0; i < 2'048; ++i) EXPECT_TRUE(take(*rates, window(1, 60'000), cat("other ", i)));
}

TEST_F(RatesTest, ManyCallsAreCountedInLittleRoomAndOnTheStrictSide) {
  auto rates = open();
  policy::Rate rate = window(100'000, 86'400'000);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(take(*rates, rate)) << i;
    pass(300);
  }
  EXPECT_FALSE(take(*rates, rate));
  int64_t wait = wait_ms(*rates, rate);
  EXPECT_GE(wait, 86'400'000 - 100'000 * 300);
  EXPECT_LE(wait, 86'400'000 - 100'000 * 300 + 86'400'000 / 60);
}

// Whatever the rate and the times: never more than an exact count of each call would let through,
// and just that where the number is small.
TEST_F(RatesTest, AgreesWithANaiveCount) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string key = cat("tool ", round);
    uint64_t count = 1 + random() % (round % 3 == 0 ? 400 : 40);
    int64_t period = 1 + static_cast<int64_t>(random() % 100'000);
    std::deque<int64_t> calls;  // times of those let through
    auto rates = open();
    for (int i = 0; i < 1'500; ++i) {
      since_boot +=
          static_cast<int64_t>(random() % static_cast<uint64_t>(
                                              4 * period * kMs / static_cast<int64_t>(count) + 1)) *
              (random() % 8 == 0) +
          static_cast<int64_t>(random() % 1'000);
      if (random() % 100 == 0) rates = open();
      if (random() % 50 == 0) of_day = static_cast<int64_t>(random() % 1'000'000'000) * kMs;
      while (!calls.empty() && since_boot - calls.front() >= period * kMs) calls.pop_front();
      bool may = calls.size() < count, did = take(*rates, window(count, period), key);
      ASSERT_TRUE(!did || may) << round << " " << i;
      if (count <= Rates::kExact) {
        ASSERT_EQ(did, may) << round << " " << i;
      }
      if (did) calls.push_back(since_boot);
    }
  }
}

TEST_F(RatesTest, ABucketAgreesWithANaiveOne) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 40; ++round) {
    uint64_t count = 1 + random() % 50, burst = 1 + random() % 20;
    // So that steps are whole.
    int64_t period = static_cast<int64_t>(count) * (1 + static_cast<int64_t>(random() % 5'000));
    double tokens = static_cast<double>(burst),
           step = static_cast<double>(period * kMs / static_cast<int64_t>(count));
    int64_t filled = since_boot;
    auto rates = open();
    for (int i = 0; i < 500; ++i) {
      since_boot += static_cast<int64_t>(random() % static_cast<uint64_t>(2 * step));
      tokens = std::min(static_cast<double>(burst),
                        tokens + static_cast<double>(since_boot - filled) / step);
      filled = since_boot;
      bool did = take(*rates, bucket(count, period, burst), cat("tool ", round));
      if (std::abs(tokens - 1) > 1e-6) {
        ASSERT_EQ(did, tokens >= 1) << round << " " << i << " " << tokens;
      }
      if (did) tokens -= 1;
    }
  }
}

TEST_F(RatesTest, ADamagedCountIsFullAndADamagedFileRefusedWithTheFix) {
  {
    auto rates = open();
    EXPECT_TRUE(take(*rates, window(5, 60'000)));
  }
  std::string path = directory + "/rates";
  Fd file = open_file(path, O_RDWR).value();
  std::string bytes = read_all(file.get(), 8 << 20).value();
  std::string noise(1024, '\x7f');
  // One that says of itself that nothing is in it cannot be told from one in which nothing is.
  noise[0] = 3;
  for (size_t at = 4096 + 2048 * 32; at < bytes.size(); at += 1024)
    ASSERT_EQ(::pwrite(file.get(), noise.data(), noise.size(), static_cast<off_t>(at)), 1024);
  EXPECT_FALSE(take(*open(), window(5, 60'000)));
  EXPECT_EQ(wait_ms(*open(), window(5, 60'000)), 60'000);
  pass(60'000);
  EXPECT_TRUE(take(*open(), window(5, 60'000)));
  ASSERT_EQ(::pwrite(file.get(), "nonsense", 8, 0), 8);
  Result<std::unique_ptr<Rates>> damaged = Rates::open(directory, clocks());
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().message.find("damaged"), std::string::npos);
  EXPECT_NE(damaged.error().hint.find("remove it"), std::string::npos);
  ASSERT_EQ(::truncate(path.c_str(), 10), 0);
  EXPECT_FALSE(Rates::open(directory, clocks()));
}

TEST_F(RatesTest, AFileOfSomebodyElseOrALinkIsRefused) {
  (void)open();
  std::string path = directory + "/rates";
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_FALSE(Rates::open(directory, clocks()));
  ASSERT_EQ(::rename(path.c_str(), (directory + "/other").c_str()), 0);
  ASSERT_EQ(::symlink((directory + "/other").c_str(), path.c_str()), 0);
  EXPECT_FALSE(Rates::open(directory, clocks()));
  ASSERT_EQ(::unlink(path.c_str()), 0);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  EXPECT_FALSE(Rates::open(directory, clocks()));
}

TEST_F(RatesTest, WhoHasARemovedFileOpenCountsInTheNewOne) {
  auto rates = open();
  EXPECT_TRUE(take(*rates, window(1, 60'000)));
  ASSERT_EQ(::unlink((directory + "/rates").c_str()), 0);
  EXPECT_TRUE(take(*open(), window(1, 60'000)));
  EXPECT_FALSE(take(*rates, window(1, 60'000)));
}

// Processes that take as fast as they can, and are killed at any instant. What they were given is
// counted by the kernel, one byte each in a pipe that nobody reads meanwhile, after it was given:
// what is in the pipe never exceeds the limit.
TEST_F(RatesTest, HoldsWhileProcessesHammerAndAreKilled) {
  constexpr uint64_t kLimit = 20'000;
  constexpr int64_t kForever = 86'400'000;
  Pipe given = make_pipe().value();
  std::mt19937_64 random(3);
  for (int round = 0; round < 12; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        Result<std::unique_ptr<Rates>> rates = Rates::open(directory);
        while (rates) {
          Result<std::optional<Rates::Refused>> refused =
              rates.value()->take({{"tool t", window(kLimit, kForever), "r"},
                                   {"calls", window(kLimit * 2, kForever), "c"}});
          if (!refused) ::_exit(1);
          if (!refused.value() && ::write(given.write.get(), "x", 1) != 1) ::_exit(1);
          if (refused.value() && round == 11) ::_exit(0);
        }
        ::_exit(1);
      }
      children.push_back(child);
    }
    timespec pause{0, static_cast<long>(random() % 3'000'000)};
    if (round < 11) ::nanosleep(&pause, nullptr);
    for (pid_t child : children) {
      if (round < 11) (void)::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (round == 11) {
        EXPECT_EQ(status, 0);
      }
    }
  }
  given.write.reset();
  size_t taken = read_all(given.read.get(), 1 << 20).value().size();
  EXPECT_LE(taken, kLimit);
  // Of each that was killed at most one was counted and not used.
  EXPECT_GE(taken, kLimit - 12 * 4);
}

}  // namespace
}  // namespace paddock::tools
