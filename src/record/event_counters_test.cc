#include "record/event_counters.h"

#include <gtest/gtest.h>

namespace paddock::record {
namespace {

Event event(const char* kind, Value data) {
  Event made;
  made.kind = kind;
  made.data = std::move(data);
  return made;
}

TEST(EventCounters, EndsHaveOneOfAFewReasons) {
  EXPECT_EQ(reason_of("killed"), "killed");
  EXPECT_EQ(reason_of("idle timeout"), "idle");
  EXPECT_EQ(reason_of("limit memory=256M"), "limit");
  EXPECT_EQ(reason_of("limit monitor.kill_if.cpu >80% (99%)"), "monitor");
  EXPECT_EQ(reason_of("it could not be started: AKIA…"), "failed");
  EXPECT_EQ(reason_of("anything else"), "other");
}

TEST(EventCounters, CountsByNameAndKind) {
  EventCounters tally;
  tally.count(event("sandbox.end", Value::Object{{"because", "killed"}}));
  tally.count(event("limit", Value::Object{{"limit", "memory"}}));
  tally.count(event("limit", Value::Object{{"limit", "memory"}}));
  tally.count(event("monitor.warn", Value::Object{{"limit", "monitor.warn_if.cpu"}}));
  tally.count(event("redaction", Value::Object{{"redacted", Value::Object{{"aws-access-key", 2},
                                                                          {"jwt", 1},
                                                                          {"THEIR_TOKEN", 3},
                                                                          {"their-pattern", 1}}}}));
  tally.count(event("denial", Value::Object{{"layer", "commands"}}));
  Event connection = event("connection", Value::Object{});
  connection.verdict = "deny";
  tally.count(connection);
  connection.verdict = "allow";
  tally.count(connection);
  EXPECT_EQ(tally.ends(), (EventCounters::Counts{{"killed", 1}}));
  EXPECT_EQ(tally.limits(), (EventCounters::Counts{{"memory", 2}}));
  EXPECT_EQ(tally.rules(), (EventCounters::Counts{{"monitor.warn_if.cpu", 1}}));
  EXPECT_EQ(tally.redactions(),
            (EventCounters::Counts{{"aws-access-key", 2}, {"jwt", 1}, {"secret", 4}}));
  EXPECT_EQ(tally.denials(), (EventCounters::Counts{{"commands", 1}, {"network", 1}}));
}

TEST(EventCounters, NamesWithoutEndBecomeOne) {
  EventCounters tally;
  for (int i = 0; i < 1000; ++i)
    tally.count(event("limit", Value::Object{{"limit", "rule " + std::to_string(i)}}));
  EXPECT_LE(tally.limits().size(), 201u);
  EXPECT_EQ(tally.limits().at("other"), 800u);
}

}  // namespace
}  // namespace paddock::record
