#include "cli/cli.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/commands_test.h"
#include "cli/flags.h"
#include "cli/options.h"

namespace paddock::cli {
namespace {

int list_things(int argc, char**) { return 10 + argc; }
int remove_thing(int, char** argv) { return argv[1] == std::string("x") ? 0 : 1; }
constexpr Verb kThings[] = {{"ls", list_things, "list them"},
                            {"remove", remove_thing, "remove one"}};

Ran things(std::vector<std::string> words) {
  return ran([](int argc, char** argv) { return run_verb("thing", kThings, argc, argv); },
             std::move(words));
}

TEST(RunVerb, CallsTheOneThatIsNamedWithItsOwnWords) {
  EXPECT_EQ(things({"thing", "ls"}).status, 11);
  EXPECT_EQ(things({"thing", "remove", "x"}).status, 0);
}

TEST(RunVerb, ListsAllForHelp) {
  Ran help = things({"thing", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_TRUE(starts_with(help.out, "usage: paddock thing VERB"));
  EXPECT_NE(help.out.find("  ls      list them\n  remove  remove one\n"), std::string::npos)
      << help.out;
}

TEST(RunVerb, SaysWhatWasProbablyMeant) {
  Ran wrong = things({"thing", "remoe"});
  EXPECT_EQ(wrong.status, kFailed);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err,
            "paddock: paddock thing: there is no 'remoe'\n  hint: did you mean 'remove'?\n");
  EXPECT_NE(things({"thing"}).err.find("a verb is missing\n  hint: one of: ls, remove\n"),
            std::string::npos);
}

Ran act(std::vector<std::string> words, Result<int> result) {
  return ran(
      [&](int argc, char** argv) {
        Options options("thing", "Does it.");
        return options.run(argc, argv, [&](bool json) -> Result<int> {
          int status = TRY(Result<int>(result));
          (void)show(json, Value::Object{{"done", true}}, "done\n");
          return status;
        });
      },
      std::move(words));
}

TEST(OptionsRun, ShowsTextOrJson) {
  EXPECT_EQ(act({"thing"}, 0).out, "done\n");
  EXPECT_EQ(act({"thing", "--json"}, 3).out, "{\"done\":true}\n");
  EXPECT_EQ(act({"thing", "--json"}, 3).status, 3);
  EXPECT_NE(act({"thing", "--help"}, 0).out.find("--json"), std::string::npos);
}

TEST(OptionsRun, ReportsAnErrorInTheSameForm) {
  Error error{Code::not_found, "find it: gone", "look again"};
  EXPECT_EQ(act({"thing"}, error).err, "paddock: find it: gone\n  hint: look again\n");
  Ran json = act({"thing", "--json"}, error);
  EXPECT_EQ(json.status, kFailed);
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(json.out,
            "{\"error\":{\"code\":\"not_found\",\"message\":\"find it: gone\",\"hint\":\"look "
            "again\"}}\n");
}

TEST(Flags, ErrorsNameTheFlag) {
  EXPECT_EQ(duration_flag("--timeout", "5m").value(), 300'000);
  EXPECT_EQ(duration_flag("--timeout", "0").value(), 0);
  Result<int64_t> wrong = duration_flag("--timeout", "soon");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(starts_with(wrong.error().message, "--timeout: ")) << wrong.error().message;
}

TEST(Flags, SecretsAreTakenFromHereAndHiddenInTheCommandLine) {
  ::setenv("PADDOCK_CLI_TEST", "open-sesame", 1);
  EXPECT_EQ(secret_of("PADDOCK_CLI_TEST").value().second, "open-sesame");
  EXPECT_EQ(secret_of("A=b=c").value().second, "b=c");
  EXPECT_FALSE(secret_of("PADDOCK_CLI_TEST_MISSING"));
  EXPECT_FALSE(secret_of("not a name=x"));
  std::string words[] = {"run", "--secret", "A=hidden", "--secret=B=too",
                         "--",  "--secret", "C=kept"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  hide_secrets(static_cast<int>(argv.size()), argv.data());
  EXPECT_EQ(words[2], "A=******");
  EXPECT_EQ(words[3], "--secret=B=***");
  EXPECT_EQ(words[6], "C=kept");
}

TEST(ItemsIn, IsEmptyForWhatIsNotAList) {
  EXPECT_TRUE(items_in(Value(), "a").empty());
  EXPECT_TRUE(items_in(Value::Object{{"a", 1}}, "a").empty());
  EXPECT_EQ(items_in(Value::Object{{"a", Value::Array{1, 2}}}, "a").size(), 2u);
}

}  // namespace
}  // namespace paddock::cli
