#include "tools/command_tools.h"

#include <gtest/gtest.h>

#include "tools/direct.h"

namespace paddock::tools {
namespace {

Value json(const std::string& text) { return parse_json(text, "test").value(); }

Value ran(const std::string& out, const std::string& more = "") {
  return json(R"({"outcome":{"kind":"exited","code":0},"stdout":)" + to_json(Value(out)) + more +
              "}");
}

schema::Schema schema_of(const std::string& text) {
  return schema::Schema::compile(json(text)).value();
}

TEST(CommandResult, AnObjectIsStructuredAndTheSameAsText) {
  Value result = command_result(ran("{\"a\": 1}\n"), nullptr);
  EXPECT_EQ(to_json(result),
            R"({"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}})");
}

TEST(CommandResult, OtherTextIsTextAsItIs) {
  for (const char* text : {"sunny\n", "[1, 2]", "7", "", "{\"a\": 1", "{\"a\": 1, \"a\": 2}"}) {
    Value result = command_result(ran(text), nullptr);
    EXPECT_FALSE(result.find("structuredContent")) << text;
    EXPECT_FALSE(is_error_result(result)) << text;
    EXPECT_EQ(*result.find("content")->as_array()->front().find("text")->as_string(), text);
  }
}

TEST(CommandResult, WhatItsSchemaDoesNotAllowIsAnError) {
  schema::Schema schema =
      schema_of(R"({"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}})");
  EXPECT_FALSE(is_error_result(command_result(ran("{\"a\": 1}"), &schema)));
  for (const char* text : {"sunny", "{}", "{\"a\": \"x\"}", "[1]", ""})
    EXPECT_TRUE(is_error_result(command_result(ran(text), &schema))) << text;
  EXPECT_TRUE(
      is_error_result(command_result(ran("{\"a\": 1}", ",\"stdout_truncated\":true"), &schema)));
}

TEST(CommandResult, SaysHowItFailedAndWhatItPrintedLast) {
  Value exited = command_result(
      json(R"({"outcome":{"kind":"exited","code":3},"stdout":"half","stderr":"no such city\n"})"),
      nullptr);
  EXPECT_TRUE(is_error_result(exited));
  EXPECT_EQ(text_of_result(exited),
            "The tool exited with status 3.\nIts stderr ended with:\nno such city\n");
  Value killed = command_result(
      json(R"({"outcome":{"kind":"signaled","signal":"SIGSEGV"},"stdout":"","stderr":""})"),
      nullptr);
  EXPECT_EQ(text_of_result(killed), "The tool was killed by SIGSEGV.\n");
}

TEST(CommandResult, NamesLimitsAndDenials) {
  Value stopped = command_result(
      json(
          R"({"outcome":{"kind":"limit","limit":"memory","value":1048576,"peak":1048576},"stdout":"",
      "stderr":"","limits_hit":[{"limit":"memory","value":1048576,"peak":1048576}],
      "denials":[{"layer":"network","action":"connect evil.example:443","rule":"network.allow","why":"not on the allowlist"}]})"),
      nullptr);
  std::string text = text_of_result(stopped);
  EXPECT_NE(text.find("stopped by its limit memory"), std::string::npos) << text;
  EXPECT_NE(
      text.find(
          "Denied by its sandbox: connect evil.example:443 (network.allow: not on the allowlist)."),
      std::string::npos)
      << text;
}

TEST(CommandResult, TheEndOfALongStderrBeginsWithALine) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "line " + std::to_string(i) + " äöü\n";
  Value result =
      command_result(json(R"({"outcome":{"kind":"exited","code":1},"stdout":"","stderr":)" +
                          to_json(Value(lines)) + "}"),
                     nullptr);
  std::string text = text_of_result(result);
  EXPECT_LT(text.size(), 2200u);
  EXPECT_NE(text.find("…line "), std::string::npos) << text;
  EXPECT_NE(text.find("line 1999 äöü"), std::string::npos) << text;
}

TEST(CommandResult, BytesThatAreNoTextAreAnError) {
  EXPECT_TRUE(
      is_error_result(command_result(ran("\xEF\xBF\xBD", ",\"stdout_base64\":\"/w==\""), nullptr)));
}

TEST(CommandResult, WhatWasCutOffSaysSo) {
  Value result = command_result(ran("{\"a\": 1}", ",\"stdout_truncated\":true"), nullptr);
  EXPECT_FALSE(result.find("structuredContent"));
  EXPECT_NE(text_of_result(result).find("[cut off"), std::string::npos);
}

}  // namespace
}  // namespace paddock::tools
