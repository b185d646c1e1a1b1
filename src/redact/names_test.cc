// Variables that look secret, and values within trees.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

TEST(LooksSecret, ByItsName) {
  for (const char* name :
       {"API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "dbPassword", "AWS_SECRET_ACCESS_KEY",
        "MYSQL_PWD", "client-secret", "PGPASSWORD_TOKEN", "SSH_PRIVATE_KEY"})
    EXPECT_EQ(looks_secret(name, "hunter22"), "its name says so") << name;
  for (const char* name : {"PATH", "HOME", "PWD", "MONKEY", "TOKENIZERS_PARALLELISM", "KEYBOARD",
                           "COMPASS", "AUTHOR", "LANG"})
    EXPECT_EQ(looks_secret(name, "hunter22"), "") << name;
}

TEST(LooksSecret, NotWhenTheValueIsNone) {
  for (const char* value :
       {"", "true", "1", "changeme", "${TOKEN}", "<your key>", "/run/secrets/key", "xxxxxxxx"})
    EXPECT_EQ(looks_secret("API_TOKEN", value), "") << value;
}

TEST(LooksSecret, ByItsValue) {
  EXPECT_EQ(looks_secret("X",
                         "ghp"
                         "_0123456789abcdefABCDEF0123456789abcd"),
            "it looks like a github-token");
  EXPECT_EQ(looks_secret("X",
                         "AKIA"
                         "QYLPMN5HFIQR7XYA"),
            "it looks like an aws-access-key");
  EXPECT_EQ(looks_secret("DATABASE", "postgres://app:s3cr3t-pw@db/main"),
            "it looks like a url-password");
}

TEST(RedactedValue, EveryTextInATreeAndItsKeys) {
  std::shared_ptr<const Rules> rules = rules_with({.secrets = {{"KEY", "hunter22"}}});
  Value tree =
      parse_json(
          R"({"a":"hunter22","hunter22":1,"list":["x hunter22",true,null,2.5],"b":{"hunter22 too":"y"}})",
          "test")
          .value();
  Counts counts;
  EXPECT_EQ(
      to_json(redacted(*rules, tree, &counts)),
      R"({"a":"[redacted:KEY]","[redacted:KEY]":1,"list":["x [redacted:KEY]",true,null,2.5],"b":{"[redacted:KEY] too":"y"}})");
  EXPECT_EQ(counts, (Counts{{"KEY", 4}}));
}

TEST(RedactedValue, AKeySaysThatItsValueIsSecret) {
  Value tree =
      parse_json(R"({"password":"k8sPq72mVx91","user":"k8sPq72mVx91","api_key":"changeme"})",
                 "test")
          .value();
  EXPECT_EQ(
      to_json(redacted(*Rules::common(), tree)),
      R"({"password":"[redacted:generic-secret]","user":"k8sPq72mVx91","api_key":"changeme"})");
}

TEST(RedactedValue, KeysStayApart) {
  std::shared_ptr<const Rules> rules =
      rules_with({.secrets = {{"KEY", "hunter22"}, {"KEY", "hunter33"}}});
  Value tree = parse_json(R"({"hunter22":1,"hunter33":2})", "test").value();
  Value out = redacted(*rules, tree);
  EXPECT_EQ(to_json(out), R"({"[redacted:KEY]":1,"[redacted:KEY]#2":2})");
}

TEST(Total, SumsAllKinds) { EXPECT_EQ(total({{"a", 2}, {"b", 3}}), 5u); }

}  // namespace
}  // namespace paddock::redact
