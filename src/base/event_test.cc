#include "base/event.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace paddock {
namespace {

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736", kSpan[] = "00f067aa0ba902b7";

TEST(Cause, TakesTheCallersTraceAndSpan) {
  Cause cause = Cause::from_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_EQ(cause.trace, kTrace);
  EXPECT_EQ(cause.span, kSpan);
  EXPECT_EQ(Cause::from_traceparent(
                "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes-later")
                .trace,
            kTrace);
}

TEST(Cause, BeginsAnewWhenTheHeaderIsNone) {
  for (const char* wrong : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
                            "00-4bf92f3577b34da6a3ce929d0e0e473\"-00f067aa0ba902b7-01"}) {
    Cause cause = Cause::from_traceparent(wrong);
    EXPECT_NE(cause.trace, kTrace) << wrong;
    EXPECT_EQ(cause.trace.size(), 32u);
    EXPECT_EQ(cause.span.size(), 16u);
  }
}

TEST(Cause, AChildStaysInTheTraceWithASpanOfItsOwn) {
  Cause cause = Cause::begin(), child = cause.child();
  EXPECT_EQ(child.trace, cause.trace);
  EXPECT_NE(child.span, cause.span);
  Event event = cause.instant("limit");
  EXPECT_EQ(event.parent, cause.span);
  EXPECT_TRUE(event.span.empty());
  EXPECT_GT(event.time_us, 0);
}

TEST(Event, IsWrittenWithoutWhatIsEmpty) {
  Event event;
  event.kind = "limit";
  event.trace = kTrace;
  event.time_us = 1'800'000'000'123'456;
  EXPECT_EQ(to_json(to_value(event)),
            "{\"time\":\"2027-01-15T08:00:00.123456Z\",\"kind\":\"limit\",\"trace\":"
            "\"4bf92f3577b34da6a3ce929d0e0e4736\",\"data\":{}}");
  event.duration_us = 0;
  event.agent = "line\nbreak";
  EXPECT_NE(to_json(to_value(event)).find("\"agent\":\"line\\nbreak\",\"duration_us\":0"),
            std::string::npos);
}

TEST(EventKinds, AreThoseOfTheDocument) {
  std::ifstream file(PADDOCK_SOURCE_DIR "/docs/formats/events.md");
  std::map<std::string, std::string> documented;
  bool in_kinds = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) in_kinds = line == "## Kinds";
    if (!in_kinds || !line.starts_with("| `")) continue;
    size_t end = line.find('`', 3), what = line.find("| ", end) + 2;
    documented[line.substr(3, end - 3)] = line.substr(what, line.find(" |", what) - what);
  }
  std::map<std::string, std::string> known;
  for (const EventKind& kind : kEventKinds) known[kind.name] = kind.what;
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace paddock
