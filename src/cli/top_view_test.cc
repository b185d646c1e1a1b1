#include "cli/top_view.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/table.h"
#include "client/client.h"

namespace paddock::cli {
namespace {

const Colours kPlain{"", "", "", "", "", ""};

Value sandbox(const std::string& id, double cpu, int64_t memory, const std::string& name = "") {
  Value usage = Value::Object{{"cpu_percent", cpu}, {"memory", memory},  {"pids", 3},
                              {"disk", 1000},       {"net_up_rate", 10}, {"net_down_rate", 20}};
  return Value::Object{{"id", id},
                       {"name", name},
                       {"state", "running"},
                       {"memory_bytes", 1000},
                       {"cpu_millicores", 1000},
                       {"usage", std::move(usage)}};
}

std::string ids(const std::vector<Value>& sandboxes) {
  std::string all;
  for (const Value& one : sandboxes) all += text_in(one, "id");
  return all;
}

TEST(Top, SortsByTheMostFirstAndIdsFromAOn) {
  std::vector<Value> all = {sandbox("b", 1, 30), sandbox("a", 5, 10), sandbox("c", 1, 20)};
  sort_top(all, TopSort::cpu, false);
  EXPECT_EQ(ids(all), "abc");
  sort_top(all, TopSort::memory, false);
  EXPECT_EQ(ids(all), "bca");
  sort_top(all, TopSort::id, false);
  EXPECT_EQ(ids(all), "abc");
  sort_top(all, TopSort::id, true);
  EXPECT_EQ(ids(all), "cba");
}

TEST(Top, KnowsItsKeys) {
  for (char key : std::string("cmpdni")) EXPECT_TRUE(top_sort_from_key(key));
  EXPECT_FALSE(top_sort_from_key('x'));
  EXPECT_EQ(top_sort_from("net"), TopSort::net);
  EXPECT_FALSE(top_sort_from("colour"));
}

TEST(Top, FitsItsScreenAndScrolls) {
  std::vector<Value> all;
  for (char id = 'a'; id <= 'z'; ++id)
    all.push_back(sandbox(std::string(20, id), 1, 1, "a rather long name for a sandbox"));
  std::map<std::string, TopHistory> histories;
  for (const Value& one : all)
    for (int i = 0; i < 50; ++i) histories[text_in(one, "id")].add(i, i);
  std::string text =
      render_top(all, histories, {.width = 80, .rows = 10, .first = 3, .keys = true}, kPlain);
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  EXPECT_EQ(lines.size(), 10u);
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 80u) << line;
  EXPECT_EQ(lines[2].substr(0, 20), std::string(20, 'd'));
  EXPECT_NE(text.find("26 sandboxes, 26 running"), std::string::npos);
  // Beyond the end: the last page.
  text = render_top(all, histories, {.width = 80, .rows = 10, .first = 1000}, kPlain);
  EXPECT_NE(text.find(std::string(20, 'z')), std::string::npos);
}

TEST(Top, WhatIsNearItsLimitIsRed) {
  Colours colours{"", "", "<red>", "", "", "<off>"};
  EXPECT_NE(render_top({sandbox("a", 1, 950)}, {}, {}, colours).find("<red>950"),
            std::string::npos);
  EXPECT_NE(render_top({sandbox("a", 99, 1)}, {}, {}, colours).find("<red>99.0%"),
            std::string::npos);
  EXPECT_EQ(render_top({sandbox("a", 1, 1)}, {}, {}, colours).find("<red>"), std::string::npos);
}

TEST(Top, NamesCannotTalkToTheTerminal) {
  std::string text = render_top({sandbox("a", 1, 1, "x\x1b[31m\nroot")}, {}, {}, kPlain);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(split(text, '\n').size(), 4u);  // totals, headings, one row, and the end
}

TEST(Top, WorksForOnesThatWereNeverLookedAtAndForNone) {
  EXPECT_NE(
      render_top({Value::Object{{"id", "new"}, {"state", "starting"}}}, {}, {.width = 40}, kPlain)
          .find("new"),
      std::string::npos);
  EXPECT_NE(render_top({}, {}, {.width = 80, .rows = 2, .keys = true}, kPlain).find("0 sandboxes"),
            std::string::npos);
}

TEST(Top, SumsWhatAllUse) {
  Value totals = top_totals({sandbox("a", 1.5, 10), sandbox("b", 2, 20)});
  EXPECT_DOUBLE_EQ(real_in(totals, "cpu_percent"), 3.5);
  EXPECT_EQ(number_in(totals, "memory"), 30);
  EXPECT_EQ(number_in(totals, "net_down_rate"), 40);
}

}  // namespace
}  // namespace paddock::cli
