#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

TEST(TokenBucket, GivesAFullBucketAndThenItsRate) {
  TokenBucket bucket(10, 20);
  int taken = 0;
  while (bucket.take(5'000)) ++taken;
  EXPECT_EQ(taken, 20);
  EXPECT_FALSE(bucket.take(5'099));
  EXPECT_TRUE(bucket.take(5'100));
  EXPECT_FALSE(bucket.take(5'100));
}

TEST(TokenBucket, HoldsNoMoreThanItsSize) {
  TokenBucket bucket(10, 2);
  EXPECT_TRUE(bucket.take(0));
  EXPECT_DOUBLE_EQ(bucket.tokens(1'000'000), 2);
}

TEST(TokenBucket, SaysHowLongToWaitForWhatWasSpentAhead) {
  TokenBucket bucket(1'000, 20);
  EXPECT_EQ(bucket.spend(20, 100), 0);
  EXPECT_EQ(bucket.spend(500, 100), 500);
  EXPECT_EQ(bucket.spend(0, 350), 250);
  EXPECT_EQ(bucket.spend(100, 600), 100);
}

}  // namespace
}  // namespace paddock
