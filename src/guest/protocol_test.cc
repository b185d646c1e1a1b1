#include "guest/protocol.h"

#include <gtest/gtest.h>

namespace paddock::guest {
namespace {

TEST(Protocol, LeavesOutWhatHasItsDefault) {
  EXPECT_EQ(to_json(to_value(MetricsRequest{})), R"({"op":"metrics"})");
  EXPECT_EQ(to_json(to_value(StartRequest{.argv = {"id"}})), R"({"op":"start","argv":["id"]})");
  EXPECT_EQ(to_json(to_value(ReadRequest{.path = "/a"})), R"({"op":"read","path":"/a"})");
}

TEST(Protocol, SendsEveryMember) {
  StartRequest start{.argv = {"sh", "-c", "x"},
                     .env = {{"A", "b"}},
                     .cwd = "/w",
                     .user = "root",
                     .tag = "t",
                     .wants_input = true,
                     .terminal = TerminalRequest{.rows = 5, .columns = 9},
                     .timeout_ms = 7};
  EXPECT_EQ(to_json(to_value(start)),
            R"({"op":"start","argv":["sh","-c","x"],"env":{"A":"b"},"cwd":"/w","user":"root",)"
            R"("tag":"t","stdin":true,"terminal":{"rows":5,"columns":9},"timeout_ms":7})");
  EXPECT_EQ(to_json(to_value(SignalRequest{.pid = 3, .signal = "SIGTERM"})),
            R"({"op":"signal","pid":3,"signal":"SIGTERM"})");
  EXPECT_EQ(to_json(to_value(ListRequest{.path = "/", .depth = 0, .own_rights = true})),
            R"({"op":"list","path":"/","depth":0,"own_rights":true})");
}

// The guest, which knows its own bounds, refuses a pid that cannot be.
TEST(Protocol, SendsAPidThatIsZero) {
  EXPECT_EQ(to_json(to_value(AttachRequest{.pid = 0})), R"({"op":"attach","pid":0})");
  EXPECT_EQ(to_json(to_value(AttachRequest{.tag = "t"})), R"({"op":"attach","tag":"t"})");
}

TEST(Protocol, SendsWhatConcernsFiles) {
  WriteRequest write{.path = "/a", .mode = 0, .metadata = {{"k", "v"}}, .append = true};
  EXPECT_EQ(to_json(to_value(write)),
            R"({"op":"write","path":"/a","mode":0,"metadata":{"k":"v"},"append":true})");
  EXPECT_EQ(to_json(to_value(StatRequest{.path = "/a", .user = "u"})),
            R"({"op":"stat","path":"/a","user":"u"})");
  EXPECT_EQ(to_json(to_value(MoveRequest{.source = "/a", .destination = "/b"})),
            R"({"op":"move","source":"/a","destination":"/b"})");
  EXPECT_EQ(to_json(to_value(ComposeRequest{.sources = {"/a"}, .path = "/b"})),
            R"({"op":"compose","sources":["/a"],"path":"/b"})");
  EXPECT_EQ(to_json(to_value(WatchRequest{.path = "/", .recursive = true})),
            R"({"op":"watch","path":"/","recursive":true})");
}

}  // namespace
}  // namespace paddock::guest
