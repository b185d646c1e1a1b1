#include "tools/builtin/result.h"

#include <gtest/gtest.h>

#include "tools/builtin/cell_report.h"

namespace paddock::tools::builtin {

namespace {

TEST(OutputExcerpt, GivesShortOutputAsItIs) {
  OutputExcerpt kept(100);
  kept.add("one\n");
  kept.add("two\n");
  EXPECT_EQ(kept.text(), "one\ntwo\n");
  EXPECT_EQ(kept.lines(), 2u);
}

TEST(OutputExcerpt, LeavesOutTheMiddleHoweverItComes) {
  std::string long_text;
  for (int i = 0; i < 1000; ++i) long_text += std::to_string(i) + "\n";
  for (size_t piece : {size_t{1}, size_t{7}, size_t{64}, long_text.size()}) {
    OutputExcerpt kept(64);
    for (size_t at = 0; at < long_text.size(); at += piece)
      kept.add(std::string_view(long_text).substr(at, piece));
    std::string text = kept.text();
    EXPECT_EQ(text.substr(0, 32), long_text.substr(0, 32)) << piece;
    EXPECT_EQ(text.substr(text.size() - 32), long_text.substr(long_text.size() - 32)) << piece;
    EXPECT_NE(text.find("[… " + std::to_string(long_text.size() - 64) + " bytes left out …]"),
              std::string::npos)
        << text;
    EXPECT_EQ(kept.bytes(), long_text.size());
  }
}

TEST(OutputExcerpt, IsUtf8WhateverCame) {
  OutputExcerpt kept(8);
  kept.add("\xff\xfe");
  for (int i = 0; i < 20; ++i) kept.add("ä");
  bool valid = static_cast<bool>(parse_json(to_json(Value(kept.text())), "text"));
  EXPECT_TRUE(valid);
}

TEST(Outcome, IsToldInWordsWithTheLimitItsValueAndThePeak) {
  EXPECT_EQ(outcome_words(Value::Object{{"kind", "exited"}, {"code", 3}}), "exit code 3");
  EXPECT_EQ(outcome_words(Value::Object{{"kind", "signaled"}, {"signal", "SIGSEGV"}}),
            "killed by SIGSEGV");
  std::string memory = outcome_words(Value::Object{{"kind", "limit"},
                                                   {"limit", "memory"},
                                                   {"value", int64_t{64} << 20},
                                                   {"peak", int64_t{64} << 20}});
  EXPECT_NE(memory.find("memory=64M (peak 64M)"), std::string::npos) << memory;
  EXPECT_NE(
      outcome_words(
          Value::Object{{"kind", "limit"}, {"limit", "wall_time"}, {"value", 2000}, {"peak", 2000}})
          .find("wall_time=2s"),
      std::string::npos);
}

TEST(Text, LosesTheEscapesOfTerminals) {
  EXPECT_EQ(without_escapes("\x1b[0;31mZeroDivisionError\x1b[0m: x\x1b"), "ZeroDivisionError: x");
  EXPECT_EQ(without_escapes("a\x1b[31"), "a");
  EXPECT_EQ(without_escapes("plain"), "plain");
}

TEST(CellReport, MakesPicturesContentAndKeepsTheRestAsText) {
  CellReport cell("box", 1000);
  cell.add(
      "{\"type\":\"stdout\",\"text\":\"hi\\n\"}\n{\"type\":\"result\",\"is_main_result\":true,"
      "\"text\":\"<Figure>\",\"png\":\"AAEC\\n\"}\n");
  cell.add("not json\n{\"type\":\"result\",\"text\":\"table\",\"html\":\"<b>x</b>\"}\n");
  ToolReport report;
  std::move(cell).tell("", report);
  ASSERT_EQ(report.more.size(), 2u);
  EXPECT_EQ(to_json(report.more[0]), R"({"type":"image","data":"AAEC","mimeType":"image/png"})");
  EXPECT_NE(to_json(report.more[1]).find("\"mimeType\":\"text/html\""), std::string::npos);
  EXPECT_EQ(report.text, "hi\n[result]\n<Figure>\ntable");
  EXPECT_FALSE(report.is_error);
}

TEST(CellReport, AnErrorIsAnError) {
  CellReport cell("box", 1000);
  cell.add(
      "{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\",\"traceback\":\"\\u001b[31mE: "
      "v\\u001b[0m\"}\n");
  ToolReport report;
  std::move(cell).tell("", report);
  EXPECT_TRUE(report.is_error);
  EXPECT_EQ(report.text, "[error]\nE: v");
}

}  // namespace

}  // namespace paddock::tools::builtin
