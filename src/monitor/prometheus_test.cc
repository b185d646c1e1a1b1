#include "monitor/prometheus.h"

#include <gtest/gtest.h>

#include <cmath>

namespace paddock::monitor {
namespace {

using Type = Exposition::Type;

TEST(Exposition, WritesHelpTypeAndSamples) {
  Exposition out;
  out.metric("paddock_x", Type::gauge, "What it is.");
  out.sample({}, uint64_t{7});
  out.sample({{"a", "1"}, {"b", "2"}}, 0.5);
  EXPECT_EQ(out.text(),
            "# HELP paddock_x What it is.\n# TYPE paddock_x gauge\npaddock_x "
            "7\npaddock_x{a=\"1\",b=\"2\"} 0.5\n");
}

TEST(Exposition, NoValueOfALabelBreaksOutOfIt) {
  Exposition out;
  out.metric("x", Type::gauge, "");
  out.sample({{"l", "a\"} 1\nevil{x=\"\\"}}, uint64_t{1});
  EXPECT_EQ(out.text(), "# HELP x \n# TYPE x gauge\nx{l=\"a\\\"} 1\\nevil{x=\\\"\\\\\"} 1\n");
}

TEST(Exposition, BytesThatAreNoTextAreReplaced) {
  Exposition out;
  out.metric("x", Type::gauge, "h\xff\n\\");
  out.sample({{"l", "\xc3\x28"}}, uint64_t{1});
  EXPECT_EQ(out.text(),
            "# HELP x h\xEF\xBF\xBD\\n\\\\\n# TYPE x gauge\nx{l=\"\xEF\xBF\xBD(\"} 1\n");
}

TEST(Exposition, LargeCountsAreExact) {
  Exposition out;
  out.metric("x_total", Type::counter, "h");
  out.sample({}, UINT64_MAX);
  EXPECT_NE(out.text().find("x_total 18446744073709551615\n"), std::string::npos);
}

TEST(Exposition, NumbersAreThoseOfPrometheus) {
  EXPECT_EQ(prometheus_number(0.1), "0.1");
  EXPECT_EQ(prometheus_number(INFINITY), "+Inf");
  EXPECT_EQ(prometheus_number(-INFINITY), "-Inf");
  EXPECT_EQ(prometheus_number(NAN), "NaN");
}

TEST(Exposition, AHistogramSumsItsBucketsUp) {
  Exposition out;
  out.metric("d_seconds", Type::histogram, "h");
  out.histogram({{"r", "x"}}, {0.1, 1}, {2, 3, 4}, 12.5);
  EXPECT_EQ(out.text().substr(out.text().find("d_seconds_bucket")),
            "d_seconds_bucket{r=\"x\",le=\"0.1\"} 2\nd_seconds_bucket{r=\"x\",le=\"1\"} "
            "5\nd_seconds_bucket{r=\"x\",le=\"+Inf\"} 9\n"
            "d_seconds_sum{r=\"x\"} 12.5\nd_seconds_count{r=\"x\"} 9\n");
}

}  // namespace
}  // namespace paddock::monitor
