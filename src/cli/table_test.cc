#include "cli/table.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/progress.h"

namespace paddock::cli {
namespace {

const std::vector<Column> kColumns = {{.heading = "ID"},
                                      {.heading = "NAME", .least = 4, .optional = true},
                                      {.heading = "SIZE", .right = true}};

TEST(Table, IsAsWideAsWhatStandsInIt) {
  EXPECT_EQ(render_table(kColumns, {{{"a"}, {"long name"}, {"1"}}, {{"bc"}, {""}, {"1000000"}}}, 0,
                         "", ""),
            "ID  NAME          SIZE\na   long name        1\nbc             1000000\n");
}

TEST(Table, CutsThePatientColumnFirst) {
  EXPECT_EQ(render_table(kColumns, {{{"abc"}, {"a long name"}, {"10"}}}, 17, "", ""),
            "ID   NAME    SIZE\nabc  a lon…    10\n");
}

TEST(Table, LeavesColumnsOutWhenNothingElseHelps) {
  EXPECT_EQ(render_table(kColumns, {{{"abcdefgh"}, {"name"}, {"10"}}}, 14, "", ""),
            "ID        SIZE\nabcdefgh    10\n");
}

TEST(Table, NeverExceedsTheTerminalWhenItCanBeHelped) {
  for (size_t width = 14; width < 60; ++width)
    for (const std::string& line :
         split(render_table(kColumns, {{{"abcdefgh"}, {"ein überaus langer Name"}, {"10"}}}, width,
                            "", ""),
               '\n'))
      EXPECT_LE(display_width(line), width) << line;
}

TEST(Table, ColoursTakeNoRoom) {
  EXPECT_EQ(render_table({{.heading = "A"}, {.heading = "B"}}, {{{"x", "<"}, {"y"}}}, 10, "", ">"),
            "A  B>\n<x>  y\n");
}

TEST(Table, CountsAndCutsCharactersNotBytes) {
  EXPECT_EQ(display_width("überß"), 5u);
  EXPECT_EQ(fit("übermäßig", 5), "über…");
  EXPECT_EQ(fit("kurz", 4), "kurz");
  EXPECT_EQ(fit("kurz", 1), "…");
  EXPECT_EQ(fit("kurz", 0), "");
}

TEST(Table, DrawsSparklinesWithinTheirScale) {
  EXPECT_EQ(sparkline({0, 50, 100, 1000, -1}, 100), "▁▅██▁");
  EXPECT_EQ(sparkline({1}, 0), "▁");
}

TEST(Table, TellsDurationsInOneUnit) {
  EXPECT_EQ(short_duration(-5), "0s");
  EXPECT_EQ(short_duration(119'000), "119s");
  EXPECT_EQ(short_duration(300'000), "5m");
  EXPECT_EQ(short_duration(7'200'000), "2h");
  EXPECT_EQ(short_duration(86'400'000 * int64_t{3}), "3d");
}

TEST(Progress, FitsEveryTerminal) {
  for (size_t width = 0; width < 100; ++width) {
    EXPECT_LE(
        display_width(progress_line("a/long/name/of/a/file.bin", 5 << 20, 10 << 20, 2, width)),
        width);
    EXPECT_LE(
        display_width(progress_line("a/long/name/of/a/file.bin", 5 << 20, std::nullopt, 2, width)),
        width);
  }
}

TEST(Progress, SaysHowFarAndHowFast) {
  EXPECT_EQ(progress_line("f", 5 << 20, 10 << 20, 2, 80),
            "f  [############            ]   50%  5M/10M  2.5M/s");
  EXPECT_EQ(progress_line("f", 0, 0, 0, 80), "f  [########################]  100%  0/0");
}

}  // namespace
}  // namespace paddock::cli
