#include "schema/number.h"

#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

bool multiple(const char* number, const char* divisor) {
  return is_multiple(json(number), json(divisor));
}

TEST(Numbers, AreComparedExactlyAcrossIntegersAndDoubles) {
  EXPECT_TRUE(compare_numbers(json("9007199254740993"), json("9007199254740992.0")) > 0);
  EXPECT_TRUE(compare_numbers(json("9223372036854775807"), json("9223372036854775808")) < 0);
  EXPECT_TRUE(compare_numbers(json("-9223372036854775808"), json("-9223372036854775808.0")) == 0);
  EXPECT_TRUE(compare_numbers(json("1"), json("1.5")) < 0);
  EXPECT_TRUE(compare_numbers(json("-1"), json("-1.5")) > 0);
  EXPECT_TRUE(compare_numbers(json("1e300"), json("5")) > 0);
  EXPECT_TRUE(compare_numbers(json("-0"), json("0")) == 0);
}

TEST(Numbers, AreMultiplesAsDecimals) {
  for (auto [number, divisor] : {std::pair{"0.07", "0.01"},
                                 {"19.99", "0.01"},
                                 {"4.35", "0.01"},
                                 {"1.1", "0.1"},
                                 {"0.0075", "0.0001"},
                                 {"1e308", "0.5"},
                                 {"0", "7"},
                                 {"-9", "4.5"},
                                 {"9223372036854775807", "7"},
                                 {"1e-7", "1e-8"},
                                 {"5e-324", "5e-324"},
                                 {"300", "1e2"}})
    EXPECT_TRUE(multiple(number, divisor)) << number << " " << divisor;
  for (auto [number, divisor] : {std::pair{"0.00751", "0.0001"},
                                 {"1e20", "3e-5"},
                                 {"0.075", "0.01"},
                                 {"1e308", "0.123456789"},
                                 {"1", "1e300"},
                                 {"35", "1.5"},
                                 {"7", "1e2"},
                                 {"1e-300", "1"}})
    EXPECT_FALSE(multiple(number, divisor)) << number << " " << divisor;
}

TEST(Numbers, HaveOneCanonicalForm) {
  auto canonical = [](const char* text) {
    std::string out;
    append_canonical(json(text), out);
    return out;
  };
  EXPECT_EQ(canonical("1.0"), canonical("1"));
  EXPECT_EQ(canonical("-0"), canonical("0"));
  EXPECT_EQ(canonical("1e3"), canonical("1000"));
  EXPECT_EQ(canonical(R"({"a":1,"b":[2.0]})"), canonical(R"({"b":[2],"a":1.0})"));
  EXPECT_NE(canonical("9007199254740993"), canonical("9007199254740992.0"));
  EXPECT_NE(canonical("\"1\""), canonical("1"));
  EXPECT_NE(canonical("[[],[]]"), canonical("[[[]]]"));
}

}  // namespace
}  // namespace paddock::schema
