#include "api/http/rate.h"

#include <gtest/gtest.h>

namespace paddock::api {
namespace {

TEST(RateLimits, GivesTwiceASecondsWorthAtOnceAndRefills) {
  RateLimits rates;
  int taken = 0;
  while (rates.take("a", 5, 0) == 0) ++taken;
  EXPECT_EQ(taken, 10);
  EXPECT_FALSE(rates.has("a", 0));
  EXPECT_TRUE(rates.has("b", 0));
  EXPECT_EQ(rates.take("a", 5, 200), 0);
  EXPECT_NE(rates.take("a", 5, 200), 0);
}

TEST(RateLimits, StrangersDoNotResetWhatIsInUse) {
  RateLimits rates;
  while (rates.take("guesser", 5, 0) == 0) {}
  for (size_t i = 0; i < 10 * RateLimits::kMost; ++i) {
    (void)rates.take(std::to_string(i), 5, 0);
    if (i % 100 == 0) {
      ASSERT_NE(rates.take("guesser", 5, 0), 0) << i;
    }
  }
  EXPECT_EQ(rates.size(), RateLimits::kMost);
}

}  // namespace
}  // namespace paddock::api
