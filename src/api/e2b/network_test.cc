#include "api/e2b/network.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "policy/network/rules.h"
#include "policy/secret.h"

namespace paddock::api {
namespace {

NetworkPolicy policy_of(std::string json, std::string body = "{}") {
  Result<E2bNetwork> network =
      parse_e2b_network(parse_json(json, "network").value(), parse_json(body, "body").value());
  EXPECT_TRUE(network) << (network ? "" : network.error().message);
  return network ? to_policy(network.value()).value() : NetworkPolicy{};
}

std::string refusal_of(std::string json) {
  Result<E2bNetwork> network =
      parse_e2b_network(parse_json(json, "network").value(), Value(Value::Object{}));
  return network ? "accepted" : network.error().message;
}

bool allows(const NetworkPolicy& policy, const std::string& host) {
  auto rules = policy::NetworkRules::create(*policy.allow, policy.deny).value();
  policy::Host canonical = policy::canonical_host(host).value();
  if (!canonical.is_address()) return rules.decide(canonical, 443).allowed;
  return rules.decide_address(canonical, canonical, 443, nullptr).allowed;
}

TEST(E2bNetwork, EverythingIsOpenUnlessToldOtherwise) {
  NetworkPolicy policy = policy_of("{}");
  EXPECT_EQ(*policy.allow, std::vector<std::string>{"*"});
  EXPECT_TRUE(policy.deny.empty());
}

TEST(E2bNetwork, WithoutInternetNothingIsReachedButANetworkIsThere) {
  NetworkPolicy policy = policy_of("{}", R"({"allow_internet_access":false})");
  EXPECT_EQ(*policy.allow, std::vector<std::string>{"192.0.2.1"});
  EXPECT_FALSE(allows(policy, "1.1.1.1"));
  EXPECT_FALSE(allows(policy, "example.com"));
}

TEST(E2bNetwork, AllowWinsOverDenyAll) {
  NetworkPolicy policy =
      policy_of(R"({"allowOut":["1.1.1.1","*.example.com"],"denyOut":["0.0.0.0/0"]})");
  EXPECT_TRUE(allows(policy, "1.1.1.1"));
  EXPECT_TRUE(allows(policy, "api.example.com"));
  EXPECT_FALSE(allows(policy, "8.8.8.8"));
  EXPECT_FALSE(allows(policy, "example.org"));
}

TEST(E2bNetwork, AllowWinsOverARangeItLiesIn) {
  NetworkPolicy policy =
      policy_of(R"({"allowOut":["8.8.8.8","8.8.4.0/24"],"denyOut":["8.0.0.0/8","9.9.9.9"]})");
  EXPECT_TRUE(allows(policy, "8.8.8.8"));
  EXPECT_TRUE(allows(policy, "8.8.4.200"));
  EXPECT_FALSE(allows(policy, "8.8.8.9"));
  EXPECT_FALSE(allows(policy, "8.8.5.0"));
  EXPECT_FALSE(allows(policy, "9.9.9.9"));
  EXPECT_TRUE(allows(policy, "1.1.1.1"));
}

TEST(E2bNetwork, TooManyHeadersAreRefused) {
  std::string headers;
  for (int i = 0; i < 65; ++i) headers += cat(i ? "," : "", "\"x-", i, "\":\"value-of-it\"");
  EXPECT_EQ(
      refusal_of(cat(R"({"rules":{"example.com":[{"transform":{"headers":{)", headers, "}}}]}}")),
      "network: rules: more than 64 headers");
}

TEST(E2bNetwork, AllowingAllUndoesEveryDenial) {
  NetworkPolicy policy = policy_of(R"({"allowOut":["0.0.0.0/0"],"denyOut":["8.8.8.8"]})");
  EXPECT_TRUE(allows(policy, "8.8.8.8"));
  EXPECT_TRUE(allows(policy, "example.com"));
}

TEST(E2bNetwork, RefusesInTheWordsOfE2b) {
  EXPECT_NE(refusal_of(R"({"denyOut":["example.com"]})").find("invalid denied CIDR example.com"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"allowOut":["example.com"]})").find("0.0.0.0/0"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"allowOut":["no such thing"]})").find("invalid allowed"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"egressProxy":{"address":"a:1"}})").find("egressProxy"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"denyOut":"8.8.8.8"})").find("not a list"), std::string::npos);
}

TEST(E2bNetwork, HeadersBecomeInjections) {
  NetworkPolicy policy = policy_of(
      R"({"rules":{"api.example.com":[{"transform":{"headers":{"Authorization":"Bearer x"}}}]}})");
  ASSERT_EQ(policy.inject.size(), 1u);
  EXPECT_EQ(policy.inject[0].host, "api.example.com");
  EXPECT_EQ(policy.inject[0].header, "Authorization");
  EXPECT_EQ(policy.inject[0].secret, "Bearer x");
}

// Whatever a value looks like: in a policy file some of these would name a variable or a file of
// the server.
TEST(E2bNetwork, NoHeaderReadsTheServersEnvironmentOrFiles) {
  for (const char* value :
       {"OPERATOR_TOKEN", "env:OPERATOR_TOKEN", "file:/etc/shadow", "literal:OPERATOR_TOKEN"}) {
    NetworkPolicy policy = policy_of(
        cat(R"({"rules":{"a.example":[{"transform":{"headers":{"X":")", value, R"("}}}]}})"));
    ASSERT_EQ(policy.inject.size(), 1u) << value;
    EXPECT_TRUE(policy::is_literal_secret(policy.inject[0].secret)) << value;
    EXPECT_EQ(policy::literal_value(policy.inject[0].secret), value);
  }
  EXPECT_NE(refusal_of(R"({"rules":{"a.example":[{"transform":{"headers":{"X":"short"}}}]}})")
                .find("shorter than 8"),
            std::string::npos);
}

TEST(E2bNetwork, InjectedValuesAreNotTold) {
  E2bNetwork network;
  network.rules =
      parse_json(R"({"a.example":[{"transform":{"headers":{"X":"secret-value"}}}]})", "rules")
          .value();
  EXPECT_EQ(to_json(network_json(network)).find("secret-value"), std::string::npos);
}

TEST(E2bNetwork, AHostInARangeIsCutOutExactly) {
  auto rule = [](const char* text) { return policy::parse_network_rule(text).value(); };
  auto left = subtract({rule("10.0.0.0/30")}, {rule("10.0.0.1")}).value();
  std::vector<std::string> texts;
  for (const auto& range : left) texts.push_back(policy::to_string(range));
  EXPECT_EQ(texts, (std::vector<std::string>{"10.0.0.0", "10.0.0.2/31"}));
}

}  // namespace
}  // namespace paddock::api
