#include "base/percent.h"

#include <gtest/gtest.h>

namespace paddock {
namespace {

TEST(Percent, LeavesMalformedEscapes) {
  EXPECT_EQ(percent_decode("a%20b%zz%4"), "a b%zz%4");
  EXPECT_EQ(percent_decode("%41"), "A");
  EXPECT_EQ(percent_decode("%"), "%");
}

TEST(Percent, EncodesAllButUnreservedCharacters) {
  EXPECT_EQ(percent_encode("a/ü&?#%~"), "a%2F%C3%BC%26%3F%23%25~");
  EXPECT_EQ(percent_decode(percent_encode("a/b c\xff%")), "a/b c\xff%");
}

TEST(Percent, StrictDecodingRefusesMalformedEscapes) {
  EXPECT_EQ(percent_decode_strictly("a%2Fb%25"), "a/b%");
  for (const char* text : {"%", "%2", "%zz", "a%4"})
    EXPECT_FALSE(percent_decode_strictly(text)) << text;
}

TEST(ParseQuery, DecodesNamesAndValues) {
  std::vector<std::pair<std::string, std::string>> expected = {
      {"a", "b c"}, {"d&", ""}, {"e", "=f"}};
  EXPECT_EQ(parse_query("a=b+c&d%26&&e==f"), expected);
  EXPECT_EQ(parse_query("a=b+c", false)[0].second, "b+c");
  EXPECT_TRUE(parse_query("").empty());
  EXPECT_TRUE(parse_query("&&").empty());
}

}  // namespace
}  // namespace paddock
