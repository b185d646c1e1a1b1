#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "base/text.h"
#include "base/units.h"
#include "base/value.h"

namespace paddock {
namespace {

std::string json_error(const std::string& text) {
  Result<Value> value = parse_json(text, "x.json");
  return value ? "accepted" : value.error().message;
}

TEST(Json, RoundTripsEveryKindOfValue) {
  std::string text = R"({"a":[1,-2,3.5,true,false,null],"b":{"c":"\u00e4\ud83d\ude00\n"}})";
  Result<Value> value = parse_json(text, "x.json");
  ASSERT_TRUE(value);
  EXPECT_EQ(to_json(value.value()), "{\"a\":[1,-2,3.5,true,false,null],\"b\":{\"c\":\"ä😀\\n\"}}");
}

TEST(Json, NamesTheLineOfAMistake) {
  EXPECT_EQ(json_error("{\n\"a\": 1,\n}"), "x.json:3: a key in double quotes should stand here");
}

TEST(Json, RefusesWhatIsNotStrictlyJson) {
  for (const char* text :
       {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "01", "1.", "+1", "nan", "'a'", "\"\x01\"", "\"\\x\"",
        "\"\\ud800\"", "[1] 2", "\"\xff\"", "1e999", "// c\n1"})
    EXPECT_NE(json_error(text), "accepted") << text;
}

TEST(Json, NumbersSurviveReadingAndWriting) {
  for (std::string text :
       {"0.1", "1e-07", "5e-324", "9223372036854775808", "1e+22", "1.7976931348623157e+308",
        "9223372036854775807", "-9223372036854775808", "-0", "0.30000000000000004"})
    EXPECT_EQ(to_json(parse_json(text, "x").value()), text);
  EXPECT_EQ(to_json(parse_json("1.0", "x").value()), "1");
  // Beyond 64 bits they are doubles.
  EXPECT_EQ(to_json(parse_json("18446744073709551615", "x").value()), "18446744073709551616");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    Value again = parse_json(to_json(Value(number)), "x").value();
    EXPECT_EQ(again.as_double() ? *again.as_double() : static_cast<double>(*again.as_int()),
              number);
  }
}

TEST(Json, RefusesNumbersThatADoubleCannotHold) {
  for (const char* text : {"1e309", "-1e309", "1e999999999999", "1e-400"})
    EXPECT_EQ(json_error(text), "x.json:1: a number out of range") << text;
  EXPECT_EQ(json_error(std::string(400, '9')), "x.json:1: a number out of range");
}

TEST(Json, FindsDuplicateKeysInSmallAndLargeObjects) {
  for (int count : {1, 2, 11, 12, 13, 14, 100'000}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += cat("\"k", i, "\":0,");
    EXPECT_EQ(json_error(text + "\"other\":0}"), "accepted") << count;
    EXPECT_EQ(json_error(text + "\"k0\":0}"), "x.json:1: the key 'k0' stands here twice") << count;
    EXPECT_EQ(json_error(text + cat("\"k", count - 1, "\":0}")),
              cat("x.json:1: the key 'k", count - 1, "' stands here twice"));
  }
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(json_error(std::string(60, '[') + std::string(60, ']')), "accepted");
  EXPECT_NE(json_error(std::string(100000, '[')), "accepted");
}

TEST(Toml, KeepsLinesAndOrder) {
  Result<Value> value = parse_toml("b = 1\n[t]\na = [true, 'x']\n", "x.toml");
  ASSERT_TRUE(value);
  EXPECT_EQ(to_json(value.value()), R"({"b":1,"t":{"a":[true,"x"]}})");
  EXPECT_EQ(value.value().find("t")->find("a")->line, 3);
}

TEST(Toml, RefusesMalformedTextWithoutCrashing) {
  for (const char* text :
       {"[/files]", "[[[a]]]", "[l\xd2\x96mits", "a = 1979-05-27", "a = ", "a = 1\na = 2"}) {
    Result<Value> value = parse_toml(text, "x.toml");
    ASSERT_FALSE(value) << text;
    EXPECT_TRUE(starts_with(value.error().message, "x.toml:")) << value.error().message;
  }
}

TEST(Units, ReadsSizesDurationsAndCores) {
  EXPECT_EQ(parse_size("256M").value(), 256u << 20);
  EXPECT_EQ(parse_size("1.5G").value(), 3u << 29);
  EXPECT_EQ(parse_size("512").value(), 512u);
  EXPECT_EQ(parse_duration("500ms").value(), 500u);
  EXPECT_EQ(parse_duration("1.5s").value(), 1500u);
  EXPECT_EQ(parse_age("90d").value(), 90ull * 86'400'000);
  EXPECT_EQ(parse_age("12h").value(), 12u * 3'600'000);
  EXPECT_EQ(format_age(parse_age("2d").value()), "2d");
  EXPECT_EQ(format_age(90'000), "90s");
  EXPECT_EQ(parse_cores("0.5").value(), 500u);
}

TEST(Units, RefusesWhatCannotBeMeant) {
  for (const char* text : {"", "M", "-1M", "1X", "1 M", "1e3", "99999999999T"})
    EXPECT_FALSE(parse_size(text)) << text;
  for (const char* text : {"5", "s", "5d", "-1s"}) EXPECT_FALSE(parse_duration(text)) << text;
  for (const char* text : {"d", "5", "1.d.d", "-1d", "5md", "9e9d"})
    EXPECT_FALSE(parse_age(text)) << text;
  EXPECT_FALSE(parse_limit(info(LimitKind::pids), "0"));
  EXPECT_FALSE(parse_limit(info(LimitKind::pids), "1.5"));
}

TEST(Units, FormatReadsBackToTheSameLimit) {
  for (const LimitInfo& limit : kLimits)
    for (uint64_t value : {uint64_t{1000}, uint64_t{1} << 20, uint64_t{3'600'000}}) {
      Result<uint64_t> again = parse_limit(limit, format_limit(limit, value));
      ASSERT_TRUE(again) << limit.name;
      bool rounded = limit.unit == Unit::bytes || limit.unit == Unit::bytes_per_second;
      EXPECT_TRUE(rounded || again.value() == value) << limit.name;
    }
}

TEST(Text, MakesHostileBytesPrintable) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\xff\xe2\x80\xae"), "a\\x1b[31mb\\x0ac\\xff\\u202e");
  EXPECT_EQ(printable("grüße 😀"), "grüße 😀");
}

TEST(Json, EscapesWhatATerminalWouldObeyAndGivesItBack) {
  std::string hostile =
      "a\x1b[2J\x7f\xc2\x9b\xd8\x9c\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf\n\"\\ "
      "\xc3\xa4\xf0\x9f\x90\x8e";
  std::string text = to_json(Value(hostile));
  EXPECT_EQ(text,
            "\"a\\u001b[2J\\u007f\\u009b\\u061c\\u202e\\u2028\\ufeff\\n\\\"\\\\ "
            "\xc3\xa4\xf0\x9f\x90\x8e\"");
  EXPECT_EQ(*parse_json(text, "text").value().as_string(), hostile);
  EXPECT_EQ(to_json(Value("\xff"
                          "a\xe2\x80")),
            "\"\xef\xbf\xbd"
            "a\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(Text, ReplacesInvalidUtf8) {
  bool changed = false;
  EXPECT_EQ(to_utf8("a\xc0\x80z", &changed), "a\xef\xbf\xbd\xef\xbf\xbdz");
  EXPECT_TRUE(changed);
}

TEST(Text, SuggestsTheNearestWordOnly) {
  EXPECT_EQ(nearest("memroy", {"memory", "pids"}), "memory");
  EXPECT_EQ(nearest("banana", {"memory", "pids"}), "");
}

TEST(Text, EncodesBase64) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

}  // namespace
}  // namespace paddock
