#include "audit/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/digest.h"
#include "base/text.h"

namespace paddock::audit {
namespace {

std::string line_of(const Event& event) {
  Link last;
  std::string out;
  append_record(event, last, out);
  return out;
}

// Whatever was in the event: one line, valid JSON, bounded, and found again.
Value check_line(const std::string& text) {
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_LE(text.size(), kMostRecord);
  std::string_view bare = std::string_view(text).substr(0, text.size() - 1);
  EXPECT_TRUE(std::all_of(bare.begin(), bare.end(),
                          [](unsigned char c) { return c >= 0x20 && c != 0x7f; }));
  Result<Value> value = parse_json(bare, "line");
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  std::optional<Record> line = read_record(bare);
  EXPECT_TRUE(line && line->holds());
  return value ? value.value() : Value();
}

TEST(AuditRecord, ARecordIsOneLineWithItsHash) {
  Event event;
  event.kind = "run.start";
  event.agent = "planner";
  event.data.set("argv", text_list({"ls"}));
  Link last;
  std::string out;
  append_record(event, last, out);
  EXPECT_EQ(last.seq, 1U);
  std::string body = out.substr(0, out.rfind(",\"hash\":\""));
  EXPECT_EQ(last.hash, to_hex(sha256_bytes(body)));
  EXPECT_EQ(body, cat("{\"seq\":1,\"time\":\"1970-01-01T00:00:00.000000Z\",\"kind\":\"run.start\","
                      "\"agent\":\"planner\",\"data\":{\"argv\":[\"ls\"]},\"prev\":\"",
                      kNoHash, "\""));
}

TEST(AuditRecord, NothingInAnEventBreaksItsLine) {
  const std::string evils[] = {"a\nb",
                               "\r\n{\"seq\":2}",
                               "\",\"prev\":\"x\",\"hash\":\"y\"}\n",
                               "\x1b[2J",
                               std::string("\0\0", 2),
                               "\xff\xfe\x80",
                               "\xc2\x9b"
                               "31m",
                               "\xe2\x80\xae"
                               "txt",
                               "\xe2\x80\xa8",
                               "\\",
                               "\"",
                               "\x7f"};
  for (const std::string& evil : evils) {
    Event event;
    event.kind = evil;
    event.trace = event.span = event.parent = event.sandbox = event.tenant = event.agent =
        event.verdict = evil;
    event.time_us = INT64_MIN;
    event.data.set(evil, evil);
    event.data.set(evil + "2", Value::Array{Value(evil), Value(Value::Object{{evil, evil}})});
    std::string text = line_of(event);
    (void)check_line(text);
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(text.find("\xe2\x80"), std::string::npos);
  }
}

TEST(AuditRecord, KeysStandOnce) {
  Event event;
  event.data.set("a", 1);
  event.data.set("a", 2);
  event.data.set("\xff", 3);
  event.data.set("\xfe", 4);
  Value value = check_line(line_of(event));
  EXPECT_EQ(value.find("data")->as_object()->size(), 2U);
  EXPECT_EQ(*value.find("data")->find("a")->as_int(), 1);
}

TEST(AuditRecord, WhatIsTooLongIsCutAndSaysHowMuch) {
  Event event;
  event.agent = std::string(5000, 'x');
  event.data.set("text", std::string(1 << 20, 'y'));
  event.data.set("list", Value::Array(10'000, Value("z")));
  event.data.set("kept", "short");
  Value value = check_line(line_of(event));
  EXPECT_EQ(*value.find("cut")->as_int(), (1 << 20) + 10'000 + 5 + 4 + 4 + 4);
  EXPECT_NE(value.find("data")->find("text")->as_string()->find("[cut: 1044480 more bytes]"),
            std::string::npos);
  EXPECT_EQ(*value.find("data")->find("list")->as_array()->back().as_string(), "[cut: 9872 more]");
  EXPECT_EQ(*value.find("data")->find("kept")->as_string(), "short");
  EXPECT_NE(value.find("agent")->as_string()->find("[cut: 4744 more bytes]"), std::string::npos);
}

TEST(AuditRecord, AnyShapeOfDataFits) {
  Value deep = "leaf";
  for (int i = 0; i < 200; ++i)
    deep = Value::Array{deep, deep.as_array() && deep.as_array()->size() > 1 ? Value(1) : Value(2)};
  Event event;
  event.data.set("deep", deep);
  (void)check_line(line_of(event));
  event = Event{};
  for (int i = 0; i < 50'000; ++i)
    event.data.set(cat("key-", i, std::string(i % 300, '\x01')), std::string(i % 999, '\x02'));
  (void)check_line(line_of(event));
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    event = Event{};
    auto text = [&] {
      std::string bytes(random() % 3000, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      return bytes;
    };
    event.kind = text(), event.sandbox = text(), event.agent = text();
    for (unsigned i = random() % 60; i > 0; --i)
      event.data.set(text(), random() % 2 ? Value(text()) : Value(1e300 * random()));
    (void)check_line(line_of(event));
  }
}

TEST(AuditRecord, OtherLinesAreNoRecords) {
  std::string good = line_of(Event{});
  good.pop_back();
  ASSERT_TRUE(read_record(good));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_record(std::string_view(good).substr(0, size)) &&
                 read_record(std::string_view(good).substr(0, size))->holds());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = changed[i] == '1' ? '2' : '1';
    std::optional<Record> line = read_record(changed);
    EXPECT_FALSE(line && line->holds()) << i;
  }
}

}  // namespace
}  // namespace paddock::audit
