#include "cli/policy_flags.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/explain.h"

namespace paddock::cli {

namespace {

Result<Policy> policy_of(std::vector<std::string> words, bool lives_on = false) {
  PolicyFlags flags;
  flags.lives_on = lives_on;
  Options options("test", "");
  declare_policy(options, flags, {"files", "monitor", "redact", "audit"});
  std::vector<char*> argv = {const_cast<char*>("test")};
  for (std::string& word : words) argv.push_back(word.data());
  EXPECT_FALSE(options.parse(static_cast<int>(argv.size()), argv.data()));
  return call_policy(flags);
}

}  // namespace

TEST(PolicyFlags, ARuleIsReadAsInAFile) {
  for (const char* text :
       {"cpu=>80% for 10s", "cpu=80% for 10s", "cpu>80% for 10s", "cpu=> 80%  for 10s"}) {
    Result<Policy> policy = policy_of({"--kill-if", text});
    ASSERT_TRUE(policy) << policy.error().message;
    ASSERT_EQ(policy.value().monitor.rules.size(), 1u);
    EXPECT_EQ(policy.value().monitor.rules[0].name, "monitor.kill_if.cpu");
    EXPECT_EQ(policy.value().monitor.rules[0].text, ">80% for 10s");
  }
  EXPECT_EQ(policy_of({"--warn-if", "pids>=5"}).value().monitor.rules[0].text, ">=5");
  EXPECT_EQ(policy_of({"--warn-if", "pids=>=5"}).value().monitor.rules[0].text, ">=5");
}

TEST(PolicyFlags, RulesMayBeRepeated) {
  Result<Policy> policy =
      policy_of({"--kill-if", "cpu=>80%", "--kill-if", "cpu=>50% for 1m", "--warn-if=oom=>0"});
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(to_json(*policy::to_value(policy.value()).find("monitor")),
            R"({"warn_if":{"oom":">0"},"kill_if":{"cpu":[">80%",">50% for 1m"]}})");
}

TEST(PolicyFlags, ARuleThatCannotBeMeantIsRefusedWithItsFlag) {
  struct Case {
    const char *text, *message, *hint;
  };
  for (const Case& wrong :
       {Case{"cpu", "--kill-if: 'cpu' is not METRIC=RULE", "'cpu=>80% for 10s'"},
        Case{"=>80%", "--kill-if: '=>80%' is not METRIC=RULE", ""},
        Case{"memroy=>1G", "--kill-if: nothing of the name 'memroy' is watched",
             "did you mean 'memory'?"},
        Case{"cpu=>80", "--kill-if: cpu: '80' needs its unit", "100% is one core"},
        Case{"cpu=", "--kill-if: cpu: '' names no threshold", ""}}) {
    Result<Policy> policy = policy_of({"--kill-if", wrong.text});
    ASSERT_FALSE(policy) << wrong.text;
    EXPECT_TRUE(starts_with(policy.error().message, wrong.message)) << policy.error().message;
    EXPECT_NE(policy.error().hint.find(wrong.hint), std::string::npos) << policy.error().hint;
  }
}

TEST(PolicyFlags, OnlyWhatLivesOnCanBePaused) {
  Result<Policy> run = policy_of({"--pause-if", "memory=>90%"});
  ASSERT_FALSE(run);
  EXPECT_NE(run.error().message.find("nobody to resume it"), std::string::npos);
  Result<Policy> living = policy_of({"--pause-if", "memory=>90%"}, true);
  ASSERT_TRUE(living) << living.error().message;
  EXPECT_EQ(living.value().monitor.rules[0].action, MonitorAction::pause);
}

TEST(PolicyFlags, APatternKeepsItsOwnEqualsSigns) {
  Result<Policy> policy =
      policy_of({"--redact", "employee=id=EMP-\\d{6}", "--audit", "/srv/audit"});
  ASSERT_TRUE(policy) << policy.error().message;
  ASSERT_EQ(policy.value().redact.custom.size(), 1u);
  EXPECT_EQ(policy.value().redact.custom[0].name, "employee");
  EXPECT_EQ(policy.value().redact.custom[0].pattern, "id=EMP-\\d{6}");
  EXPECT_EQ(policy.value().audit.path, "/srv/audit");
  for (const char* text : {"employee", "=x", "employee="})
    EXPECT_FALSE(policy_of({"--redact", text})) << text;
}

TEST(PolicyFlags, AWorkspaceMayNameItsMode) {
  EXPECT_EQ(policy_of({"--workspace", "/srv"}).value().files.workspace->mode, WorkspaceMode::copy);
  std::optional<Workspace> workspace =
      policy_of({"--workspace", "/a:b:ro"}).value().files.workspace;
  ASSERT_TRUE(workspace);
  EXPECT_EQ(workspace->path, "/a:b");
  EXPECT_EQ(workspace->mode, WorkspaceMode::read_only);
  Result<Policy> wrong = policy_of({"--workspace", "/srv:rwx"});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "--workspace: 'rwx' is not a mode");
}

}  // namespace paddock::cli
