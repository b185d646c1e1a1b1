#include "api/http/range.h"

#include <gtest/gtest.h>

namespace paddock::api {
namespace {

TEST(Range, ReadsOneRange) {
  auto range = [](const char* header, uint64_t size) { return parse_range(header, size).value(); };
  EXPECT_EQ(range("bytes=0-9", 100)->length, 10u);
  EXPECT_EQ(range("bytes=90-", 100)->length, 10u);
  EXPECT_EQ(range("bytes=90-1000", 100)->length, 10u);
  EXPECT_EQ(range("bytes=-5", 100)->offset, 95u);
  EXPECT_EQ(range("bytes=-500", 100)->length, 100u);
}

TEST(Range, IgnoresWhatIsNotASingleRange) {
  for (const char* header :
       {"", "bytes=", "bytes=-", "bytes=a-b", "bytes=9-1", "bytes=0-1,5-6", "lines=1-2", "bytes=1"})
    EXPECT_FALSE(parse_range(header, 100).value()) << header;
}

TEST(Range, RefusesRangesAfterTheEnd) {
  EXPECT_FALSE(parse_range("bytes=100-", 100));
  EXPECT_FALSE(parse_range("bytes=-0", 100));
  EXPECT_FALSE(parse_range("bytes=0-", 0));
}

TEST(Range, SaysWhatIsSent) {
  EXPECT_EQ(content_range({10, 5}, 100), "bytes 10-14/100");
  EXPECT_EQ(unsatisfied_range(100), "bytes */100");
}

}  // namespace
}  // namespace paddock::api
