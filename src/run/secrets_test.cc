#include "run/secrets.h"

#include <gtest/gtest.h>

namespace paddock::runs {
namespace {

TEST(RunRedaction, CleansEverythingAroundTheOutput) {
  Result<RunRedaction> redaction = RunRedaction::create({}, {{"KEY", "correct-horse"}});
  ASSERT_TRUE(redaction);
  RunResult result;
  result.notes = {"'/bin/correct-horse' could not be started"};
  result.denials = {{"network", "connect correct-horse.example:443", "network.allow",
                     "correct-horse.example is not on the allowlist"}};
  result.network = R"({"requests":[{"path":"/correct-horse","status":200}]})";
  redaction.value().clean(result);
  EXPECT_EQ(result.notes[0], "'/bin/[redacted:KEY]' could not be started");
  EXPECT_EQ(result.denials[0].action, "connect [redacted:KEY].example:443");
  EXPECT_EQ(result.denials[0].rule, "network.allow");
  EXPECT_EQ(result.network, R"({"requests":[{"path":"/[redacted:KEY]","status":200}]})");
}

TEST(RunRedaction, APatternThatMatchesQuotesLeavesJsonWhole) {
  Policy policy;
  policy.redact.custom = {{"mine", "good[ -~]{3,40}"}};
  Result<RunRedaction> redaction = RunRedaction::create(policy, {});
  ASSERT_TRUE(redaction);
  EXPECT_TRUE(
      parse_json(redaction.value().clean_json(R"({"name":"good.example","port":443})"), "test"));
}

TEST(RunRedaction, RefusesKindsAndPatternsByTheirKey) {
  Policy skip, custom;
  skip.redact.skip = {"github-tokn"};
  custom.redact.custom = {{"mine", "a("}};
  EXPECT_EQ(redact_options(skip, {}).error().message.find("redact.skip"), 0u);
  EXPECT_EQ(redact_options(custom, {}).error().message.find("redact.custom.mine"), 0u);
}

}  // namespace
}  // namespace paddock::runs
