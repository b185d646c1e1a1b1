#include "telemetry/spans.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::telemetry {
namespace {

Event start_of(const Cause& cause, const std::string& span, const std::string& kind) {
  Event event = cause.instant(kind);
  event.span = span;
  event.time_us = 1'000'000;
  return event;
}

Event end_of(const Event& start, const std::string& kind, int64_t duration_us) {
  Event event = start;
  event.kind = kind;
  event.data = Value();
  event.time_us = start.time_us + duration_us;
  event.duration_us = duration_us;
  return event;
}

Value parsed(const std::string& json) {
  Result<Value> value = parse_json(json, "span");
  EXPECT_TRUE(value) << json;
  return value ? value.value() : Value();
}

std::string text(const Value& value, const char* key) {
  const Value* found = value.find(key);
  return found && found->as_string() ? *found->as_string() : "";
}

std::string attribute(const Value& span, const std::string& name) {
  for (const Value& each : *span.find("attributes")->as_array())
    if (text(each, "key") == name) return to_json(*each.find("value"));
  return "";
}

int64_t status(const Value& span) {
  const Value* code = span.find("status")->find("code");
  return code ? *code->as_int() : 0;
}

class SpansTest : public testing::Test {
 protected:
  Value only(const Event& event) {
    std::vector<std::string> whole;
    spans.take(event, whole);
    EXPECT_EQ(whole.size(), 1u);
    return whole.empty() ? Value() : parsed(whole.front());
  }
  void nothing(const Event& event) {
    std::vector<std::string> whole;
    spans.take(event, whole);
    EXPECT_TRUE(whole.empty());
  }
  Spans spans;
  Cause cause = Cause::begin();
  std::string span = cause.child().span;
};

TEST_F(SpansTest, ABeginningAndItsEndAreOneSpan) {
  Event start = start_of(cause, span, "command.start");
  start.sandbox = "abc";
  start.data.set("argv", text_list({"ls", "-l"}));
  start.data.set("timeout_ms", 5);
  nothing(start);
  Event end = end_of(start, "command.end", 2500);
  end.data.set("outcome", Value::Object{{"kind", "exited"}, {"code", 0}});
  Value made = only(end);
  EXPECT_EQ(text(made, "traceId"), cause.trace);
  EXPECT_EQ(text(made, "spanId"), span);
  EXPECT_EQ(text(made, "parentSpanId"), cause.span);
  EXPECT_EQ(text(made, "name"), "command");
  EXPECT_EQ(text(made, "startTimeUnixNano"), "1000000000");
  EXPECT_EQ(text(made, "endTimeUnixNano"), "1002500000");
  EXPECT_EQ(attribute(made, "paddock.sandbox"), "{\"stringValue\":\"abc\"}");
  EXPECT_EQ(attribute(made, "paddock.timeout_ms"), "{\"intValue\":\"5\"}");
  EXPECT_EQ(attribute(made, "paddock.argv"),
            "{\"arrayValue\":{\"values\":[{\"stringValue\":\"ls\"},{\"stringValue\":\"-l\"}]}}");
  EXPECT_EQ(attribute(made, "paddock.outcome.code"), "{\"intValue\":\"0\"}");
  EXPECT_EQ(status(made), 1);
  EXPECT_EQ(spans.open(), 0u);
}

TEST_F(SpansTest, AnEndStandsAlone) {
  Event end = end_of(start_of(cause, span, ""), "sandbox.end", 3000);
  Value made = only(end);
  EXPECT_EQ(text(made, "name"), "sandbox");
  EXPECT_EQ(text(made, "startTimeUnixNano"), "1000000000");
}

TEST_F(SpansTest, InstantsStandInTheSpanTheyHappenedIn) {
  nothing(start_of(cause, span, "sandbox.create"));
  Cause inside{cause.trace, span};
  for (int i = 0; i < 200; ++i) nothing(inside.instant("limit"));
  Value made = only(end_of(start_of(cause, span, ""), "sandbox.end", 1));
  EXPECT_EQ(made.find("events")->as_array()->size(), 128u);
  EXPECT_EQ(*made.find("droppedEventsCount")->as_int(), 72);
  Value late = only(inside.instant("limit"));  // nobody is open to take it
  EXPECT_EQ(text(late, "startTimeUnixNano"), text(late, "endTimeUnixNano"));
  EXPECT_EQ(text(late, "parentSpanId"), span);
}

TEST_F(SpansTest, WhatIsToldWhenItIsOverGetsASpanOfItsOwn) {
  nothing(start_of(cause, span, "sandbox.create"));
  Event connection = Cause{cause.trace, span}.instant("connection");
  connection.duration_us = 10;
  connection.verdict = "deny";
  connection.data.set("why", "not on the allowlist");
  Value made = only(connection);
  EXPECT_EQ(text(made, "spanId").size(), 16u);
  EXPECT_EQ(text(made, "parentSpanId"), span);
  EXPECT_EQ(status(made), 2);
  EXPECT_EQ(text(*made.find("status"), "message"), "not on the allowlist");
}

TEST_F(SpansTest, FailuresAreErrors) {
  auto status_with = [&](const char* key, Value value) {
    Event end = end_of(start_of(cause, span, ""), "run.end", 1);
    end.data.set(key, std::move(value));
    return status(only(end));
  };
  EXPECT_EQ(status_with("outcome", Value::Object{{"kind", "exited"}, {"code", 3}}), 2);
  EXPECT_EQ(status_with("outcome", Value::Object{{"kind", "signaled"}, {"signal", "SIGKILL"}}), 2);
  EXPECT_EQ(status_with("outcome", Value::Object{{"kind", "limit"}, {"limit", "memory"}}), 2);
  EXPECT_EQ(status_with("error", Value::Object{{"message", "no such file"}}), 2);
  EXPECT_EQ(status_with("limit", "memory"), 2);
  EXPECT_EQ(status_with("http.response.status_code", 503), 2);
  EXPECT_EQ(status_with("http.response.status_code", 404), 0);
  EXPECT_EQ(status_with("because", "killed"), 0);
}

TEST_F(SpansTest, BoundsWhatAProgramCanPutIntoASpan) {
  Event end = end_of(start_of(cause, span, ""), "command.end", 1);
  end.data.set("text", std::string(1 << 20, 'x'));
  for (int i = 0; i < 1000; ++i) end.data.set(cat("k", i), i);
  std::vector<std::string> whole;
  spans.take(end, whole);
  EXPECT_LT(whole.front().size(), 16u << 10);
  EXPECT_EQ(*parsed(whole.front()).find("droppedAttributesCount")->as_int(), 1001 - 64);
}

TEST(Request, HasTheShapeOfOtlp) {
  EXPECT_EQ(
      make_request({{"service.name", "paddock"}}, {"{\"a\":1}", "{\"b\":2}"}),
      cat("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{"
          "\"stringValue\":\"paddock\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"paddock\","
          "\"version\":\"",
          PADDOCK_VERSION, "\"},\"spans\":[{\"a\":1},{\"b\":2}]}]}]}"));
}

}  // namespace
}  // namespace paddock::telemetry
