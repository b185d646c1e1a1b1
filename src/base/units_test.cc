#include "base/units.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

TEST(Units, DigitsAreNothingElse) {
  EXPECT_EQ(parse_digits("0"), 0);
  EXPECT_EQ(parse_digits("00012"), 12);
  EXPECT_EQ(parse_digits("999999999999999999"), 999999999999999999);
  for (const char* wrong : {"", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1000000000000000000"})
    EXPECT_FALSE(parse_digits(wrong)) << wrong;
  EXPECT_TRUE(parse_digits("65535", 5));
  EXPECT_FALSE(parse_digits("065535", 5));
}

}  // namespace
}  // namespace paddock
