#include "cli/dockerfile.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::cli {
namespace {

Dockerfile parsed(const std::string& text) { return parse_dockerfile(text, "Dockerfile").value(); }
std::string why_not(const std::string& text) {
  Result<Dockerfile> read = parse_dockerfile(text, "Dockerfile");
  return read ? "" : read.error().message;
}
// The steps between those that every file begins and ends with.
std::vector<std::string> steps(const std::string& text) {
  std::vector<std::string> lines;
  for (const DockerStep& step : parsed(text).steps)
    lines.push_back(step.type + " " + join(step.args, "|"));
  return {lines.begin() + 2, lines.end()};
}

TEST(DockerfileTest, ReadsLinesThatGoOnAndComments) {
  EXPECT_EQ(steps("FROM base\n# no\nRUN a && \\\n  # inside\n  b\nUSER user\nWORKDIR /w\n"),
            (std::vector<std::string>{"RUN a && b", "USER user", "WORKDIR /w"}));
}

TEST(DockerfileTest, BeginsAsRootAndEndsAsUserAtHome) {
  Dockerfile file = parsed("FROM base");
  ASSERT_EQ(file.steps.size(), 4u);
  EXPECT_EQ(file.steps[0].args[0], "root");
  EXPECT_EQ(file.steps[2].args[0], "user");
  EXPECT_EQ(file.steps[3].args[0], "/home/user");
}

TEST(DockerfileTest, ReadsBothFormsOfCommands) {
  Dockerfile file =
      parsed("FROM base\nRUN [\"echo\", \"a b\", \"it's\"]\nCMD python3 -m http.server\n");
  EXPECT_EQ(file.steps[2].args[0], "echo 'a b' 'it'\\''s'");
  EXPECT_EQ(file.start_command, "python3 -m http.server");
}

TEST(DockerfileTest, ReadsCopiesWithOwnersAndModes) {
  EXPECT_EQ(steps("FROM base\nCOPY --chown=user --chmod=0600 ./a b/ /dst/\nUSER u\nWORKDIR /\n")[0],
            "COPY a|/dst/|user|0600");
  EXPECT_EQ(steps("FROM base\nCOPY --chown=user ./a b/ /dst/\nUSER u\nWORKDIR /\n")[1],
            "COPY b|/dst/|user|");
  EXPECT_EQ(steps("FROM base\nCOPY . /dst\nUSER u\nWORKDIR /\n")[0], "COPY .|/dst|root|");
}

TEST(DockerfileTest, ReadsVariablesInBothForms) {
  EXPECT_EQ(
      steps("FROM base\nENV A=1 B=\"two words\"\nENV C the rest\nUSER u\nWORKDIR /\n"),
      (std::vector<std::string>{"ENV A|1|B|two words", "ENV C|the rest", "USER u", "WORKDIR /"}));
}

TEST(DockerfileTest, RefusesTheRestWithItsLine) {
  EXPECT_NE(why_not("FROM base\n\nHEALTHCHECK NONE\n").find("Dockerfile:3: HEALTHCHECK"),
            std::string::npos);
  EXPECT_NE(why_not("FROM base\nFROM other\n"), "");
  EXPECT_NE(why_not("RUN a\nFROM base\n"), "");
  EXPECT_NE(why_not("FROM base\nCOPY ../x /y\n"), "");
  EXPECT_NE(why_not("FROM base\nCOPY --from=x a /y\n"), "");
  EXPECT_NE(why_not("FROM base\nRUN --mount=type=cache x\n"), "");
  EXPECT_NE(why_not("FROM base\nRUN <<EOF\n"), "");
  EXPECT_NE(why_not("FROM base\nCOPY a b /c\n"), "");
  EXPECT_NE(why_not(""), "");
}

TEST(DockerignoreTest, MatchesAsDockerDoes) {
  std::vector<std::string> patterns =
      parse_dockerignore("# no\nnode_modules\n*.log\n**/.env\n/dist/\n!keep.log\n");
  for (const char* path :
       {"node_modules", "node_modules/a/b", "x.log", ".env", "a/b/.env", "dist/x"})
    EXPECT_TRUE(is_ignored(patterns, path)) << path;
  for (const char* path : {"a/x.log", "keep.log", "src/node_modules2", "env", "a/dist"})
    EXPECT_FALSE(is_ignored(patterns, path)) << path;
}

}  // namespace
}  // namespace paddock::cli
