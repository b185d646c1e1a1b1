#include "api/native/exec_request.h"

#include <gtest/gtest.h>

#include "api/native/describe.h"

namespace paddock::api {
namespace {

Value json(const char* text) { return std::move(parse_json(text, "test")).value(); }

TEST(ExecRequest, BecomesTheGuestsRequest) {
  Result<ExecRequest> read = read_exec(
      json(R"({"argv":["a","b"],"env":{"K":"v"},"cwd":"/w","user":"u","tag":"t","stdin":"in"})"),
      false);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(to_json(guest::to_value(read.value().start)),
            R"({"op":"start","argv":["a","b"],"env":{"K":"v"},"cwd":"/w","user":"u","tag":"t",)"
            R"("stdin":true})");
  EXPECT_EQ(read.value().input, "in");
}

TEST(ExecRequest, StreamsMayHaveATerminalAndOpenStdin) {
  Result<ExecRequest> read = read_exec(
      json(R"({"command":"top","terminal":{"rows":10},"stdin":true,"background":true})"), true);
  ASSERT_TRUE(read) << read.error().message;
  Value start = guest::to_value(read.value().start);
  EXPECT_EQ(to_json(*start.find("terminal")), R"({"rows":10,"columns":80})");
  EXPECT_TRUE(flag_in(start, "stdin"));
  EXPECT_TRUE(read.value().background);
  EXPECT_FALSE(read.value().input);
  EXPECT_FALSE(read_exec(json(R"({"command":"x","terminal":{"rows":0}})"), true));
}

TEST(ExecEvents, OutputThatIsNotUtf8IsBase64) {
  EXPECT_EQ(to_json(start_event(7)), R"({"type":"start","pid":7})");
  EXPECT_EQ(to_json(output_event(guest::kOutput, "a")), R"({"type":"stdout","data":"a"})");
  EXPECT_EQ(to_json(output_event(guest::kErrors, "\xff")), R"({"type":"stderr","base64":"/w=="})");
  EXPECT_EQ(to_json(error_event(Error{Code::io, "why", "do"})),
            R"({"type":"error","error":{"code":"io","message":"why","hint":"do"}})");
}

TEST(NativeErrors, SayTheirStatusCodeAndHint) {
  EXPECT_EQ(to_json(describe_error(Error{Code::denied, "no", "ask"}, 403)),
            R"({"code":403,"message":"no","error":"denied","hint":"ask"})");
}

TEST(NativeLists, HaveTheirNameAroundThem) {
  Reply reply = list_reply("numbers", std::vector<int>{1, 2}, [](int n) { return Value(n); });
  EXPECT_EQ(reply.body, R"({"numbers":[1,2]})");
  EXPECT_EQ(reply.status, 200);
}

}  // namespace
}  // namespace paddock::api
