#include "policy/secret.h"

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/load.h"
#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

constexpr const char* kLiteral = "s3cr3t-value!";

Policy policy_with_literal() {
  std::string text =
      cat("network = { allow = ['api.example.com'], inject = [{ host = 'api.example.com', header = "
          "'X-Key', secret = '",
          kLiteral, "' }] }");
  Result<Policy> policy = decode_text(text, "case.toml", {});
  EXPECT_TRUE(policy) << policy.error().message;
  return policy ? policy.value() : Policy{};
}

}  // namespace

TEST(Secret, IsReadAsWhereItComesFrom) {
  PathContext paths{.base_directory = "/work/project", .home = "/home/agent"};
  EXPECT_EQ(canonical_secret("API_KEY", paths).value(), "env:API_KEY");
  EXPECT_EQ(canonical_secret("OPENAI_API_KEY_2_FOR_STAGING", paths).value(),
            "env:OPENAI_API_KEY_2_FOR_STAGING");
  EXPECT_EQ(canonical_secret("env:k", paths).value(), "env:k");
  EXPECT_EQ(canonical_secret("env:ghp_16C7e42F292c6912E7", paths).value(),
            "env:ghp_16C7e42F292c6912E7");
  EXPECT_EQ(canonical_secret("file:~/key", paths).value(), "file:/home/agent/key");
  EXPECT_EQ(canonical_secret("file:../key", paths).value(), "file:/work/key");
  EXPECT_EQ(canonical_secret(kLiteral, paths).value(), kLiteral);
}

TEST(Secret, OfARequestIsAlwaysTheValueItself) {
  PathContext paths{.base_directory = "/work/project", .home = "/home/agent"};
  for (const char* value : {"OPERATOR_TOKEN", "env:OPERATOR_TOKEN", "file:/etc/shadow",
                            "literal:whatever", kLiteral, "ghp_16C7e42F292c6912E7"}) {
    std::string canonical = literal_secret(value).value();
    EXPECT_TRUE(is_literal_secret(canonical)) << value;
    EXPECT_EQ(literal_value(canonical), value);
    // Also once it was written and read again.
    EXPECT_EQ(canonical_secret(canonical, paths).value(), canonical);
    EXPECT_EQ(shown_secret(canonical), kHiddenSecret);
  }
  EXPECT_FALSE(literal_secret("short"));
  EXPECT_FALSE(literal_secret(kHiddenSecret));
}

TEST(Secret, IsKnownAsLiteral) {
  EXPECT_TRUE(is_literal_secret(kLiteral));
  EXPECT_FALSE(is_literal_secret("env:API_KEY"));
  EXPECT_FALSE(is_literal_secret("file:/key"));
  EXPECT_EQ(shown_secret("env:API_KEY"), "env:API_KEY");
  EXPECT_EQ(shown_secret(kLiteral), kHiddenSecret);
}

TEST(Secret, ALiteralOneIsNeverShown) {
  Policy policy = policy_with_literal();
  ASSERT_EQ(policy.network.inject.at(0).secret, kLiteral);
  for (const std::string& shown : {to_json(to_value(policy)), to_toml(policy), explain(policy)}) {
    EXPECT_EQ(shown.find(kLiteral), std::string::npos) << shown;
    EXPECT_NE(shown.find(kHiddenSecret), std::string::npos) << shown;
  }
}

TEST(Secret, IsNotQuotedByTheErrorAboutIt) {
  for (const char* secret :
       {"ghp_16C7e42F292c6912E7", "s3-4", "s3cr3t-\xc3\xa4-value", "env:s3cr3t-value"}) {
    Result<std::string> canonical = canonical_secret(secret, {});
    ASSERT_FALSE(canonical) << secret;
    EXPECT_EQ(cat(canonical.error().message, canonical.error().hint)
                  .find(std::string(secret).substr(secret[0] == 'e' ? 4 : 0)),
              std::string::npos)
        << canonical.error().message;
  }
}

TEST(Secret, OfTheCallReachesTheCombinedPolicy) {
  LoadContext context{.paths = {.base_directory = "/work", .home = ""},
                      .read = [](const std::string&) -> Result<std::string> {
                        return Error{Code::not_found, "", ""};
                      }};
  Result<Combined> combined = load({}, policy_with_literal(), context);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(combined.value().policy.network.inject.at(0).secret, kLiteral);
}

TEST(Secret, IsNotQuotedWhereTwoLayersDisagree) {
  Policy first = policy_with_literal(), second = first;
  second.network.inject[0].secret = "another-value";
  Result<Combined> combined = combine({{first}}, second, {});
  ASSERT_FALSE(combined);
  EXPECT_EQ(combined.error().message.find(kLiteral), std::string::npos) << combined.error().message;
  EXPECT_EQ(combined.error().message.find("another-value"), std::string::npos)
      << combined.error().message;
}

}  // namespace paddock::policy
