#include "cli/options.h"

#include <gtest/gtest.h>

namespace paddock::cli {
namespace {

struct Parsed {
  std::optional<int> status;
  bool interactive = false, terminal = false;
  std::string user, id;
  std::vector<std::string> command;
};

Parsed parse(std::vector<std::string> words) {
  Parsed parsed;
  Options options("exec", "what");
  options.flag("-i, --interactive", &parsed.interactive, "");
  options.flag("-t, --tty", &parsed.terminal, "");
  options.text("-u, --user", "USER", &parsed.user, "");
  options.positional("ID", &parsed.id, "");
  options.command(&parsed.command);
  words.insert(words.begin(), "exec");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  parsed.status = options.parse(static_cast<int>(argv.size()), argv.data());
  (void)testing::internal::GetCapturedStdout();
  (void)testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(Options, TakesShortFlagsAlsoJoined) {
  Parsed parsed = parse({"-it", "-u", "root", "box", "--", "ls", "-i"});
  EXPECT_FALSE(parsed.status);
  EXPECT_TRUE(parsed.interactive && parsed.terminal);
  EXPECT_EQ(parsed.user, "root");
  EXPECT_EQ(parsed.id, "box");
  EXPECT_EQ(parsed.command, (std::vector<std::string>{"ls", "-i"}));
}

TEST(Options, TheCommandMayFollowThePositionalsWithoutDashes) {
  Parsed parsed = parse({"box", "ls", "--help"});
  EXPECT_FALSE(parsed.status);
  EXPECT_EQ(parsed.id, "box");
  EXPECT_EQ(parsed.command, (std::vector<std::string>{"ls", "--help"}));
}

TEST(Options, HelpIsForUsBeforeTheCommand) {
  EXPECT_EQ(parse({"--help"}).status, 0);
  EXPECT_EQ(parse({"box", "--help"}).status, 0);
  EXPECT_FALSE(parse({"box", "--", "--help"}).status);
}

TEST(Options, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(parse({"-x", "box"}).status, 125);
  EXPECT_EQ(parse({"-ix", "box"}).status, 125);
  EXPECT_EQ(parse({"-iu", "root", "box"}).status, 125) << "a value belongs to no joined flag";
  EXPECT_EQ(parse({"-i", "--interactive", "box"}).status, 125);
  EXPECT_EQ(parse({"--", "ls"}).status, 125) << "no ID";
  EXPECT_EQ(parse({"box", "ls", "--", "x"}).status, 125);
}

}  // namespace
}  // namespace paddock::cli
