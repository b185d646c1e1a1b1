#include "policy/network/rules.h"

#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

Host host(const std::string& text) {
  Result<Host> host = canonical_host(text);
  EXPECT_TRUE(host) << host.error().message;
  return host ? host.value() : Host{};
}

NetworkRules rules(const std::vector<std::string>& allow,
                   const std::vector<std::string>& deny = {}) {
  Result<NetworkRules> rules = NetworkRules::create(allow, deny);
  EXPECT_TRUE(rules) << rules.error().message;
  return rules ? rules.value() : NetworkRules();
}

}  // namespace

// Each case: a policy, and connections as HOST:PORT with the rule that decides about them.
TEST(NetworkRules, DecidesEveryCase) {
  for (const Value& entry : test_cases("decide.toml", "case")) {
    NetworkRules policy = rules(texts_of(entry, "allow"), texts_of(entry, "deny"));
    for (const auto& [target, expected] : *entry.find("connect")->as_object()) {
      SCOPED_TRACE(cat(text_of(entry, "name"), ": ", target));
      size_t colon = target.rfind(':');
      Verdict verdict = policy.decide(host(target.substr(0, colon)),
                                      static_cast<uint16_t>(std::stoi(target.substr(colon + 1))));
      EXPECT_EQ(cat(verdict.allowed ? "yes " : "no ", verdict.rule), *expected.as_string());
      EXPECT_FALSE(verdict.why.empty());
    }
  }
}

// Each case: a policy, and "HOST:PORT to ADDRESS", where the address is of the network
// `not_public`.
TEST(NetworkRules, DecidesEveryAddressBehindAHost) {
  for (const Value& entry : test_cases("decide.toml", "address")) {
    NetworkRules policy = rules(texts_of(entry, "allow"), texts_of(entry, "deny"));
    std::string not_public = text_of(entry, "not_public");
    for (const auto& [target, expected] : *entry.find("connect")->as_object()) {
      SCOPED_TRACE(cat(text_of(entry, "name"), ": ", target));
      std::vector<std::string> words = words_in(target);
      size_t colon = words[0].rfind(':');
      Verdict verdict =
          policy.decide_address(host(words[0].substr(0, colon)), host(words[2]),
                                static_cast<uint16_t>(std::stoi(words[0].substr(colon + 1))),
                                not_public.empty() ? nullptr : not_public.c_str());
      EXPECT_EQ(cat(verdict.allowed ? "yes " : "no ", verdict.rule), *expected.as_string());
    }
  }
}

TEST(NetworkRules, SaysWhatAnAgentCanActOn) {
  NetworkRules policy = rules({"pypi.org:443", "pypi.org:8443", "*.github.com", "intranet.example"},
                              {"gist.github.com"});
  EXPECT_EQ(policy.decide(host("evil.com"), 443).why, "not on the allowlist");
  EXPECT_EQ(policy.decide(host("gist.github.com"), 443).why, "on the denylist");
  EXPECT_EQ(policy.decide(host("pypi.org"), 80).why, "allowed on port 443, 8443, not on port 80");
  EXPECT_EQ(policy.decide(host("github.com"), 443).why,
            "not on the allowlist: *.github.com stands for the names beneath it, not for "
            "github.com itself");
  EXPECT_EQ(policy.decide(host("203.0.113.7"), 443).why,
            "not on the allowlist: an address must be listed as an address; connect to an allowed "
            "host by its name");
  EXPECT_EQ(rules({}).decide(host("pypi.org"), 443).why, "the policy allows no host");
  EXPECT_EQ(policy.decide_address(host("intranet.example"), host("10.0.0.5"), 443, "private").why,
            "resolves to 10.0.0.5, which is private and not listed as an address");
  EXPECT_EQ(rules({"*"}).decide_address(host("10.0.0.5"), host("10.0.0.5"), 443, "private").why,
            "10.0.0.5 is private and not listed as an address");
  EXPECT_EQ(rules({"*"}, {"203.0.113.0/24"})
                .decide_address(host("x.example"), host("203.0.113.7"), 443, nullptr)
                .why,
            "resolves to 203.0.113.7, which is on the denylist");
}

TEST(NetworkRules, ANameExistsWhereSomePortIsOpen) {
  NetworkRules policy = rules(
      {"pypi.org:443", "half.example:80", "half.example:443", "shut.example:80", "*.open.example"},
      {"half.example:80", "shut.example:80", "gone.open.example", "some.open.example:22"});
  EXPECT_EQ(policy.decide_name(host("pypi.org")).rule, "network.allow: pypi.org:443");
  EXPECT_EQ(policy.decide_name(host("half.example")).rule, "network.allow: half.example:443");
  EXPECT_TRUE(policy.decide_name(host("some.open.example")).allowed);
  EXPECT_EQ(policy.decide_name(host("shut.example")).rule, "network.deny: shut.example:80");
  EXPECT_EQ(policy.decide_name(host("gone.open.example")).rule, "network.deny: gone.open.example");
  EXPECT_EQ(policy.decide_name(host("evilpypi.org")).rule, "network.allow");
  EXPECT_FALSE(policy.decide_name(host("shut.example")).allowed);
  EXPECT_FALSE(policy.decide_name(host("gone.open.example")).allowed);
  EXPECT_FALSE(policy.decide_name(host("evilpypi.org")).allowed);
}

TEST(NetworkRules, KnowsANameThatTheProgramMayMakeUp) {
  NetworkRules policy = rules({"pypi.org:443", "*.github.com", "api.github.com:443"});
  EXPECT_TRUE(policy.is_by_wildcard(host("secret-data.github.com")));
  EXPECT_FALSE(policy.is_by_wildcard(host("api.github.com")));
  EXPECT_FALSE(policy.is_by_wildcard(host("pypi.org")));
  EXPECT_FALSE(policy.is_by_wildcard(host("elsewhere.example")));
  EXPECT_TRUE(rules({"*"}).is_by_wildcard(host("elsewhere.example")));
}

TEST(NetworkRules, RefusesAListItCannotRead) {
  Result<NetworkRules> allow = NetworkRules::create({"pypi.org", "127.1"}, {});
  Result<NetworkRules> deny = NetworkRules::create({}, {"a b"});
  ASSERT_FALSE(allow);
  ASSERT_FALSE(deny);
  EXPECT_EQ(allow.error().message,
            "network.allow: '127.1' is neither a host name nor an IP address");
  EXPECT_EQ(deny.error().message, "network.deny: 'a b' is not a host name");
}

// Azure's metadata, or the host's own address, are public by their numbers.
TEST(NetworkRules, WhatIsNotPublicNeedsAnEntryThatWasGranted) {
  Host metadata = canonical_host("168.63.129.16").value(),
       name = canonical_host("evil.example").value(),
       localhost = canonical_host("localhost").value(),
       loopback = canonical_host("127.0.0.1").value();
  std::vector<std::string> asked = {"168.0.0.0/8", "168.63.129.16", "evil.example", "localhost"};
  NetworkRules call = NetworkRules::create(asked, {}, std::vector<std::string>{"pypi.org"}).value();
  EXPECT_FALSE(call.decide_address(metadata, metadata, 80, "cloud metadata").allowed);
  EXPECT_FALSE(call.decide_address(name, metadata, 80, "cloud metadata").allowed);
  EXPECT_FALSE(call.decide_address(localhost, loopback, 80, "loopback").allowed);
  EXPECT_TRUE(call.decide_address(metadata, metadata, 80, nullptr).allowed);
  NetworkRules operators =
      NetworkRules::create(asked, {}, std::vector<std::string>{"168.63.129.16:80", "localhost"})
          .value();
  EXPECT_TRUE(operators.decide_address(metadata, metadata, 80, "cloud metadata").allowed);
  EXPECT_FALSE(operators.decide_address(metadata, metadata, 32526, "cloud metadata").allowed);
  EXPECT_TRUE(operators.decide_address(localhost, loopback, 80, "loopback").allowed);
  NetworkRules own = NetworkRules::create(asked, {}).value();
  EXPECT_TRUE(own.decide_address(metadata, metadata, 80, "cloud metadata").allowed);
}

}  // namespace paddock::policy
