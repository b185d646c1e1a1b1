#include "api/native/create_request.h"

#include <gtest/gtest.h>

#include "api/native/exec_request.h"

namespace paddock::api {
namespace {

Value json(const char* text) { return std::move(parse_json(text, "test")).value(); }

TEST(CreateRequest, CombinesPoliciesAndShortcuts) {
  Result<manager::CreateOptions> read = read_create(json(
      R"({"policy":["default",{"version":1,"limits":{"memory":"256M"}}],"limits":{"memory":"64M"},"allow_net":["pypi.org"]})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read.value().policy.limits[LimitKind::memory], 64u << 20);
  for (const char* wrong :
       {R"({"policy":"/etc/passwd"})", R"({"policy":3})", R"({"limits":{"memory":-1}})",
        R"({"volumes":[{"name":"v","path":"relative"}]})", R"({"on_timeout":"x"})"})
    EXPECT_FALSE(read_create(json(wrong))) << wrong;
}

TEST(ExecRequest, NeedsOneCommandAndRefusesNul) {
  Result<ExecRequest> read = read_exec(json(R"({"command":"true","timeout_ms":5})"), false);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(text_list(read.value().start.argv)), R"(["/bin/bash","-l","-c","true"])");
  for (const char* wrong :
       {R"({})", R"({"argv":["a"],"command":"b"})", R"({"argv":[]})", R"({"argv":["a\u0000b"]})",
        R"({"argv":["a"],"stdin":true})", R"({"argv":["a"],"terminal":{}})"})
    EXPECT_FALSE(read_exec(json(wrong), false)) << wrong;
  EXPECT_TRUE(read_exec(json(R"({"argv":["a"],"stdin":true,"terminal":{"rows":3}})"), true));
}

TEST(OutputEvent, CarriesBytesThatAreNoTextAsBase64) {
  EXPECT_EQ(to_json(output_event(guest::kOutput, "h\xc3\xa9")),
            "{\"type\":\"stdout\",\"data\":\"h\xc3\xa9\"}");
  EXPECT_EQ(to_json(output_event(guest::kErrors, "\xff")), R"({"type":"stderr","base64":"/w=="})");
}

}  // namespace
}  // namespace paddock::api
