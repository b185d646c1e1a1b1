#include "api/e2b/control.h"

#include <gtest/gtest.h>

namespace paddock::api::e2b {
namespace {

Value json(const char* text) { return std::move(parse_json(text, "test")).value(); }

TEST(E2bTime, IsWrittenWithMilliseconds) {
  EXPECT_EQ(time_text(1), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(time_text(0), "9999-12-31T23:59:59.000Z");  // never
  EXPECT_EQ(parse_time("1970-01-01T00:00:02Z").value(), 2000);
  EXPECT_FALSE(parse_time("yesterday"));
}

TEST(E2bBody, SecondsAreCheckedAndBecomeMilliseconds) {
  Value body = json(R"({"a":3,"b":-1,"c":"x","d":99999999999,"e":null})");
  EXPECT_EQ(seconds_to_ms(body, "a", 5).value(), 3000);
  EXPECT_EQ(seconds_to_ms(body, "missing", 5).value(), 5000);
  EXPECT_EQ(seconds_to_ms(body, "e", 5).value(), 5000);
  for (const char* name : {"b", "c", "d"}) EXPECT_FALSE(seconds_to_ms(body, name, 5)) << name;
}

TEST(E2bBody, TextsByName) {
  Value body = json(R"({"good":{"a":"b"},"list":[],"number":{"a":1}})");
  EXPECT_EQ(text_map(body, "good").value().at("a"), "b");
  EXPECT_TRUE(text_map(body, "missing").value().empty());
  EXPECT_FALSE(text_map(body, "list"));
  EXPECT_FALSE(text_map(body, "number"));
}

TEST(E2bCreate, ReadsWhatClientsSend) {
  Result<manager::CreateOptions> read =
      parse_create(json(R"({"templateID":"base","timeout":7,"metadata":{"a":"b"},"autoPause":true,
              "autoResume":{"enabled":true},"volumeMounts":[{"name":"v","path":"/v"}],
              "envVars":{"PLAIN":"x","API_KEY":"hunter22-and-more"}})"),
                   15);
  ASSERT_TRUE(read) << read.error().message;
  const manager::CreateOptions& options = read.value();
  EXPECT_EQ(options.template_name, "base");
  EXPECT_EQ(options.timeout_ms, 7000);
  EXPECT_TRUE(options.lifecycle.pause_on_timeout);
  EXPECT_TRUE(options.lifecycle.auto_resume);
  EXPECT_TRUE(options.lifecycle.pause_keeps_memory);
  EXPECT_EQ(options.volumes.size(), 1u);
  EXPECT_EQ(options.env.count("PLAIN"), 1u);
  EXPECT_EQ(options.secrets.count("API_KEY"), 1u);  // it is called a secret, and looks like one
}

TEST(E2bCreate, HasTheDefaultsOfItsVersion) {
  EXPECT_EQ(parse_create(json("{}"), 15).value().timeout_ms, 15'000);
  EXPECT_EQ(parse_create(json("{}"), 300).value().timeout_ms, 300'000);
  EXPECT_TRUE(parse_create(json("{}"), 15).value().public_traffic);
  EXPECT_TRUE(parse_create(json(R"({"autoResume":{"policy":"any"}})"), 15)
                  .value()
                  .lifecycle.auto_resume);  // as clients before 2.30 write it
}

TEST(E2bCreate, RefusesWhatItCannotGive) {
  for (const char* wrong :
       {R"({"templateID":3})", R"({"timeout":0})", R"({"timeout":"x"})", R"({"metadata":[]})",
        R"({"autoPause":"yes"})", R"({"autoPauseMemory":false})",
        R"({"autoPause":true,"autoPauseMemory":false,"autoResume":{"enabled":true}})",
        R"({"volumeMounts":{}})", R"({"volumeMounts":[{"name":"v"}]})", R"({"iam":{}})",
        R"({"network":{"httpsPorts":[443]}})", R"({"network":{"maskRequestHost":"a b"}})",
        R"({"network":3})", R"({"network":{"allowOut":["example.com"]}})"})
    EXPECT_FALSE(parse_create(json(wrong), 15)) << wrong;
}

TEST(E2bJson, ASandboxIsListedInItsWords) {
  manager::SandboxInfo info;
  info.id = "abc";
  info.template_id = "t";
  info.state = manager::SandboxState::pausing;
  info.cpu_millicores = 1500;
  info.memory_bytes = 256 << 20;
  info.volumes.push_back({.name = "v", .path = "/v"});
  Value listed = listed_json(info);
  EXPECT_EQ(text_in(listed, "sandboxID"), "abc");
  EXPECT_EQ(text_in(listed, "state"), "paused");
  EXPECT_EQ(number_in(listed, "cpuCount"), 2);
  EXPECT_EQ(number_in(listed, "memoryMB"), 256);
  EXPECT_TRUE(listed.find("volumeMounts"));
  EXPECT_FALSE(listed.find("alias"));
}

TEST(E2bJson, WhatWasAskedForIsKept) {
  E2bNetwork open;
  EXPECT_TRUE(flag_in(extra_of(open, true, "host"), "asked_for_all"));
  E2bNetwork closed{.internet = false};
  Value extra = extra_of(closed, std::nullopt, "");
  EXPECT_FALSE(flag_in(extra, "asked_for_all"));
  EXPECT_FALSE(flag_in(extra, "allow_internet_access", true));
}

}  // namespace
}  // namespace paddock::api::e2b
