#include "run/environment.h"

#include <gtest/gtest.h>

namespace paddock::runs {
namespace {

TEST(EnvironmentNotes, TellOfWhatSteersProgramsAndNotOfItsHarmlessKin) {
  for (const char* name :
       {"LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "BASH_FUNC_ls%%", "PYTHONPATH", "NODE_OPTIONS",
        "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "JAVA_TOOL_OPTIONS"})
    EXPECT_TRUE(steers_programs(name)) << name;
  for (const char* name : {"LDFLAGS", "BASH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
                           "GIT_AUTHOR_NAME", "NODE_ENV", "JAVA_HOME", "ENVIRONMENT", "PATH"})
    EXPECT_FALSE(steers_programs(name)) << name;
}

TEST(EnvironmentNotes, TellOfWhatLooksLikeASecretButNeverItsValue) {
  Command command{.env = {{"DB_PASSWORD", "q7Rk29fJx-TTm4a"}, {"COLOUR", "red"}},
                  .secrets = {{"API_TOKEN", "q7Rk29fJx-TTm4b"}}};
  Policy policy;
  policy.env.set = {{"SMTP_PASSWORD", "q7Rk29fJx-TTm4c"},
                    {"LANG", "C.UTF-8"},
                    {"NODE_OPTIONS", "--max-old-space-size=768"}};
  std::vector<std::string> notes = environment_notes(command, policy);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].find("DB_PASSWORD looks like a secret"), 0u) << notes[0];
  EXPECT_EQ(notes[1].find("SMTP_PASSWORD of env.set looks like a secret"), 0u) << notes[1];
  for (const std::string& note : notes) EXPECT_EQ(note.find("q7Rk"), std::string::npos);
}

}  // namespace
}  // namespace paddock::runs
