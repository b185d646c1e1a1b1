#include "tools/decide/output.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "tools/provider.h"

namespace paddock::tools {
namespace {

Value json(const std::string& text) { return parse_json(text, "test").value(); }

TEST(Output, WhatFitsIsNotTouched) {
  Value result = json(
      R"({"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1},"_meta":{"k":"v"}})");
  std::string before = to_json(result);
  EXPECT_EQ(bound_result(result, 1000).bytes, 0u);
  EXPECT_EQ(to_json(result), before);
}

TEST(Output, AnImageThatDoesNotFitIsSaidToBeLeftOut) {
  Value result;
  result.set("content", Value::Array{Value::Object{{"type", "text"}, {"text", "short"}},
                                     Value::Object{{"type", "image"},
                                                   {"mimeType", "image/png"},
                                                   {"data", std::string(50'000, 'A')}}});
  Cut cut = bound_result(result, 10'000);
  std::string text = to_json(result);
  EXPECT_GT(cut.bytes, 50'000u);
  EXPECT_NE(text.find("short"), std::string::npos);
  EXPECT_NE(text.find("image image/png"), std::string::npos);
  EXPECT_EQ(text.find("AAAA"), std::string::npos);
}

TEST(Output, AStructureThatDoesNotFitIsDroppedWithANote) {
  Value result = text_result("short");
  result.set("structuredContent", Value::Object{{"a", std::string(50'000, 'x')}});
  Cut cut = bound_result(result, 10'000);
  EXPECT_TRUE(cut.lost_structure);
  EXPECT_FALSE(result.find("structuredContent"));
  EXPECT_NE(to_json(result).find("structuredContent (50"), std::string::npos);
}

// Whatever comes, it is valid UTF-8 and no longer than allowed.
TEST(Output, IsNeverLongerThanAllowed) {
  std::mt19937_64 random(5);
  const std::string pieces[] = {"a",  "\n",   "\"",   "\\",     "ä",    "€",
                                "😀", "\xff", "\x01", "\u202e", "word "};
  for (int round = 0; round < 400; ++round) {
    Value::Array content;
    for (size_t i = random() % 6; i > 0; --i) {
      std::string text;
      for (size_t j = random() % 3'000; j > 0; --j) text += pieces[random() % std::size(pieces)];
      if (random() % 4 == 0)
        content.push_back(
            Value::Object{{"type", "image"}, {"data", std::string(random() % 9'000, 'A')}});
      else if (random() % 4 == 0)
        content.push_back(Value::Object{
            {"type", "resource"}, {"resource", Value::Object{{"uri", "x:"}, {"text", text}}}});
      else
        content.push_back(Value::Object{{"type", "text"}, {"text", text}});
    }
    Value result;
    result.set("content", std::move(content));
    if (random() % 2)
      result.set("structuredContent", Value::Object{{"k", std::string(random() % 9'000, 'k')}});
    if (random() % 2) result.set("_meta", Value::Object{{"k", std::string(random() % 9'000, 'm')}});
    if (random() % 2) result.set("isError", true);
    uint64_t most = 2'500 + random() % 20'000;
    bound_result(result, most);
    std::string text = to_json(result);
    ASSERT_LE(text.size(), most) << round;
    ASSERT_TRUE(parse_json(text, "result")) << round;
    ASSERT_TRUE(result.find("content")->as_array());
  }
}

TEST(Output, ASecretIsTakenOutBeforeItCouldBeCutInHalf) {
  RuleList rules = {redact::Rules::compile({.secrets = {{"KEY", "open-sesame-42"}}}).value()};
  for (size_t at = 0; at < 40; ++at) {
    mcp::Answer answer = mcp::Answer::done(
        text_result(std::string(3'000 + at, 'x') + "open-sesame-42" + std::string(9'000, 'y')));
    redact_answer(answer, rules, nullptr);
    bound_result(answer.result, 4'096);
    EXPECT_EQ(to_json(answer.result).find("open"), std::string::npos);
  }
}

TEST(Output, NeitherNamesNorManyMembersNorWhatIsNoObjectGetRoundTheLimit) {
  Value long_name = text_result("x");
  long_name.set(std::string(1 << 20, 'k'), Value(1));
  Value many = text_result("x");
  for (int i = 0; i < 50'000; ++i) many.set(cat("member", i), Value("some text"));
  for (Value result : {long_name, many, Value(std::string(100'000, 'x')),
                       Value(Value::Array{std::string(100'000, 'x')})}) {
    Cut cut = bound_result(result, 64 << 10);
    EXPECT_LE(to_json(result).size(), 64u << 10);
    EXPECT_GT(cut.bytes, 0u);
    ASSERT_TRUE(result.find("content"));
  }
  Value small(7);
  bound_result(small, 64 << 10);
  EXPECT_TRUE(*small.find("isError")->as_bool());
}

}  // namespace
}  // namespace paddock::tools
