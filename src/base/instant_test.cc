#include "base/instant.h"

#include <gtest/gtest.h>

#include "base/event.h"

namespace paddock {
namespace {

TEST(Instant, ReadsWhatRfc3339Writes) {
  for (int64_t time : {int64_t{0}, int64_t{1'795'000'000'123'456}, int64_t{951'827'696'000'001}})
    EXPECT_EQ(parse_rfc3339(rfc3339(time)).value(), time);
}

TEST(Instant, KnowsOffsetsFractionsAndLeapDays) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T02:00:00+02:00").value(), 0);
  EXPECT_EQ(parse_rfc3339("1970-01-01T02:00:00 02:00").value(), 0);
  EXPECT_EQ(parse_rfc3339("1969-12-31t22:30:00.25-01:30").value(), 250'000);
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.1234567899Z").value(), 123'456);
  EXPECT_TRUE(parse_rfc3339("2028-02-29T00:00:00Z"));
}

TEST(Instant, RefusesWhatIsNoTime) {
  for (const char* text :
       {"", "2026", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
        "2026-01-01 00:00:00Z", "2026-01-01T00:00:00+2:00", "-026-01-01T00:00:00Z"})
    EXPECT_FALSE(parse_rfc3339(text)) << text;
}

TEST(Instant, TakesAgesAndDays) {
  int64_t now = 1'795'000'000'000'000;
  EXPECT_EQ(parse_instant("90s", now).value(), now - 90'000'000);
  EXPECT_EQ(parse_instant("2h", now).value(), now - 7'200'000'000);
  EXPECT_EQ(parse_instant("3d", now).value(), now - 3 * 86'400'000'000);
  EXPECT_EQ(parse_instant("1970-01-02", now).value(), 86'400'000'000);
  for (const char* text :
       {"", "d", "-1d", "1", "yesterday", "99999999999999999d", "1e3h", "9999999999999h"})
    EXPECT_FALSE(parse_instant(text, now)) << text;
}

TEST(Instant, IsWrittenAsHttpWantsIt) {
  EXPECT_EQ(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(http_date(1'769'860'800), "Sat, 31 Jan 2026 12:00:00 GMT");
}

}  // namespace
}  // namespace paddock
