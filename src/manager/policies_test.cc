#include "manager/policies.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "manager/sandbox_events.h"

namespace paddock::manager {

namespace {

Result<CombinedPolicy> combine(const Policy& call) {
  Result<Policies> policies = Policies::create("");
  if (!policies) return policies.error();
  return policies.value().combine("", call);
}

}  // namespace

TEST(Policies, ACallThatSaysNothingGetsNoNetwork) {
  Result<CombinedPolicy> combined = combine({});
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_TRUE(combined.value().policy.network.allow->empty());
  EXPECT_EQ(combined.value().policy.limits[LimitKind::memory], 1u << 30);
  EXPECT_FALSE(combined.value().policy.limits[LimitKind::wall_time]);
}

TEST(Policies, ACallMayAskForEveryPublicHostButNotForPrivateNetworks) {
  Policy call;
  call.network.allow = {"*",         "pypi.org",  "10.0.0.5",        "192.168.0.0/16",
                        "8.0.0.0/6", "localhost", "169.254.169.254", "203.0.113.7",
                        "8.8.8.8",   "[fd00::1]"};
  Result<CombinedPolicy> combined = combine(call);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(*combined.value().policy.network.allow,
            (std::vector<std::string>{"*", "pypi.org", "203.0.113.7", "8.8.8.8"}));
  EXPECT_EQ(combined.value().refusals.size(), 6u);
  Result<void> refused = refuse_narrowed(combined.value(), Yields::wide_network);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::denied);
  EXPECT_NE(refused.error().message.find("network.allow: 'localhost' asked for, policy 'server' "
                                         "has to name it, because it is not public"),
            std::string::npos)
      << refused.error().message;
}

TEST(Policies, ACallNamesNothingOfTheServersMachine) {
  std::vector<Policy> calls(14);
  calls[0].files.read = {"/etc"};
  calls[1].files.write = {"/srv"};
  calls[2].files.workspace = Workspace{"/srv", WorkspaceMode::read_only};
  calls[3].env.pass = {"AWS_SECRET_ACCESS_KEY"};
  calls[4].network.inject = {{.host = "example.com", .header = "x", .secret = "env:HOME"}};
  calls[5].network.inject = {{.host = "example.com", .header = "x", .secret = "file:/etc/shadow"}};
  calls[6].audit.path = "/tmp/x";
  calls[7].audit.on_full = AuditFull::gap;
  calls[8].audit.keep_ms = 1000;
  calls[9].telemetry.endpoint = "http://127.0.0.1:4318";
  calls[10].tools = std::vector<ToolPolicy>{{.name = "search", .json = "{\"name\":\"search\"}"}};
  calls[11].calls = "{}";
  calls[12].mcp_servers.emplace();
  calls[13].walls = {"runc"};
  for (const Policy& call : calls) {
    Result<CombinedPolicy> combined = combine(call);
    ASSERT_FALSE(combined);
    EXPECT_EQ(combined.error().code, Code::denied);
  }
}

TEST(Policies, ACallNarrowsAndWhatItAsksForInVainIsRefused) {
  Policy call;
  call.limits[LimitKind::memory] = 4ull << 30;
  call.limits[LimitKind::pids] = 16;
  call.limits[LimitKind::wall_time] = 5000;
  Result<CombinedPolicy> combined = combine(call);
  ASSERT_TRUE(combined);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::memory], 1u << 30);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::pids], 16u);
  EXPECT_EQ(combined.value().longest_life_ms, 5000);
  EXPECT_TRUE(combined.value().notes.empty());
  CombinedPolicy forked = combined.value();
  Result<void> refused = refuse_narrowed(combined.value(), Yields::nothing);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "memory: 4G asked for, policy 'server' allows 1G");
  ASSERT_TRUE(refuse_narrowed(forked, Yields::everything));
  EXPECT_EQ(forked.notes,
            std::vector<std::string>{"memory: 4G asked for, policy 'server' allows 1G"});
}

TEST(Policies, APresetThatACallNamesNarrowsIt) {
  Result<Policies> policies = Policies::create("");
  ASSERT_TRUE(policies);
  Policy preset, call;
  preset.name = "small";
  preset.limits[LimitKind::memory] = 64 << 20;
  // More than the operator allows: a preset asks for nothing.
  preset.limits[LimitKind::disk] = 1ull << 40;
  call.limits[LimitKind::memory] = 128 << 20;
  Result<CombinedPolicy> combined = policies.value().combine("", call, {preset});
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(combined.value().policy.limits[LimitKind::memory], 64u << 20);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::disk], 10ull << 30);
  ASSERT_EQ(combined.value().refusals.size(), 1u);
  EXPECT_EQ(to_string(combined.value().refusals[0]),
            "memory: 128M asked for, policy 'small' allows 64M");
}

TEST(Policies, WhatALivingSandboxCannotHoldIsRefused) {
  Policy call;
  call.commands = {"git"};
  EXPECT_EQ(combine(call).error().code, Code::unsupported);
  Policy process;
  process.wall = WallKind::process;
  EXPECT_EQ(combine(process).error().code, Code::unsupported);
}

// Calls of tools are judged outside: the operator's policy has them, and sandboxes are made
// without.
TEST(Policies, TheOperatorsToolsAreNoPartOfASandbox) {
  char path[] = "/tmp/paddock-test-XXXXXX.toml";
  int file = ::mkstemps(path, 5);
  ASSERT_GE(file, 0);
  std::string text =
      "[calls]\nat_once = 2\n[[tools]]\nname = \"t\"\nrun = [\"x\"]\nsandbox = { isolation = { "
      "wall = \"container\" } }\n[mcp.servers.far]\nurl = \"https://mcp.example.com/\"\n";
  ASSERT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(file);
  Result<Policies> policies = Policies::create(path);
  Result<CombinedPolicy> combined =
      policies ? policies.value().combine("", {}) : Result<CombinedPolicy>(policies.error());
  Result<Policy> operators =
      policies ? policies.value().operators() : Result<Policy>(policies.error());
  ::unlink(path);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_FALSE(combined.value().policy.tools || combined.value().policy.calls ||
               combined.value().policy.mcp_servers);
  EXPECT_TRUE(combined.value().notes.empty());
  ASSERT_TRUE(operators) << operators.error().message;
  EXPECT_EQ(operators.value().tools->size(), 1u);
  EXPECT_EQ(operators.value().mcp_servers->size(), 1u);
}

TEST(Policies, ACallHasOnlySoManyEntries) {
  std::vector<Policy> calls(4);
  calls[0].network.allow.emplace();
  for (int i = 0; i < 1001; ++i) {
    calls[0].network.allow->push_back("h" + std::to_string(i) + ".example.com");
    calls[1].network.deny.push_back("h" + std::to_string(i) + ".example.com");
    calls[2].env.set["V" + std::to_string(i)] = "x";
  }
  calls[3].network.allow = {"example.com"};
  for (int i = 0; i < 65; ++i)
    calls[3].network.inject.push_back(
        {.host = "example.com", .header = "x-" + std::to_string(i), .secret = "s"});
  for (const Policy& call : calls) {
    Result<CombinedPolicy> combined = combine(call);
    ASSERT_FALSE(combined);
    EXPECT_EQ(combined.error().code, Code::invalid);
  }
  calls[0].network.allow->pop_back();
  Result<CombinedPolicy> most = combine(calls[0]);
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_EQ(most.value().policy.network.allow->size(), 1000u);
}

TEST(Policies, WhatOneSandboxHasItsForkMayAskFor) {
  Policy call;
  call.network.allow = {"pypi.org"};
  call.limits[LimitKind::pids] = 16;
  Result<CombinedPolicy> first = combine(call);
  ASSERT_TRUE(first);
  Result<CombinedPolicy> second = combine(call_policy(first.value().policy));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second.value().policy.network.allow, first.value().policy.network.allow);
  EXPECT_EQ(second.value().policy.limits[LimitKind::pids], 16u);
}

namespace {

// A policy file of the operator's, for as long as this lives.
class PolicyFile {
 public:
  explicit PolicyFile(const std::string& text) {
    int file = ::mkstemps(path_, 5);
    EXPECT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(file);
  }
  ~PolicyFile() { ::unlink(path_); }
  const char* path() const { return path_; }

 private:
  char path_[32] = "/tmp/paddock-test-XXXXXX.toml";
};

}  // namespace

// A bare word is the name of a variable in a file, and never in a call.
TEST(Policies, ACallCannotNameAVariableOfTheServer) {
  Policy call;
  call.network.allow = {"example.com"};
  call.network.inject = {{.host = "example.com", .header = "x", .secret = "OPERATOR_TOKEN"}};
  Result<CombinedPolicy> bare = combine(call);
  ASSERT_FALSE(bare);
  EXPECT_EQ(bare.error().code, Code::denied);
  call.network.inject[0].secret = "literal:OPERATOR_TOKEN";
  Result<CombinedPolicy> literal = combine(call);
  ASSERT_TRUE(literal) << literal.error().message;
  EXPECT_EQ(literal.value().policy.network.inject.at(0).secret, "literal:OPERATOR_TOKEN");
}

TEST(Policies, ACallCannotWidenWhatThePolicyLeavesOpen) {
  PolicyFile file("[limits]\nmemory = \"2G\"\n");
  Result<Policies> policies = Policies::create(file.path());
  ASSERT_TRUE(policies) << policies.error().message;
  Policy call;
  call.network.allow = {"evil.example"};
  call.limits[LimitKind::pids] = 1'000'000;
  call.limits[LimitKind::memory] = 4ull << 30;
  Result<CombinedPolicy> combined = policies.value().combine("", call);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_TRUE(combined.value().policy.network.allow->empty());  // nobody granted a network
  EXPECT_EQ(combined.value().policy.limits[LimitKind::pids], 1024u);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::memory], 2ull << 30);
  EXPECT_EQ(combined.value().refusals.size(), 3u);
}

TEST(Policies, FlagsOfTheOperatorAreACeiling) {
  Policy none;
  none.network.allow.emplace();
  Policy call;
  call.network.allow = {"*", "example.com"};
  Result<CombinedPolicy> shut = Policies::create("", {}, none).value().combine("", call);
  ASSERT_TRUE(shut) << shut.error().message;
  EXPECT_TRUE(shut.value().policy.network.allow->empty());
  EXPECT_EQ(shut.value().refusals.size(), 2u);

  Policy some;
  some.network.allow = {"*.example.com", "localhost:8099"};
  call.network.allow = {"*", "api.example.com", "localhost:8099", "other.example"};
  Result<CombinedPolicy> open = Policies::create("", {}, some).value().combine("", call);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_EQ(*open.value().policy.network.allow,
            (std::vector<std::string>{"*.example.com", "localhost:8099", "api.example.com"}));
}

TEST(Policies, WhoNamedAnAddressIsKept) {
  PolicyFile file(
      "[network]\nallow = [\"*\", \"10.1.2.3\"]\n[danger]\nallow = [\"network.wide\"]\n");
  Policy call;
  call.network.allow = {"*", "168.0.0.0/8", "10.1.2.3"};
  Result<CombinedPolicy> combined = Policies::create(file.path()).value().combine("", call);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(combined.value().policy.network.granted, std::vector<std::string>{"10.1.2.3"});
}

TEST(Policies, ASandboxHasAContainerUnlessSomebodySaysOtherwise) {
  Policy none, automatic, container;
  automatic.wall = WallKind::automatic;
  container.wall = WallKind::container;
  for (const Policy& call : {none, automatic, container}) {
    Result<CombinedPolicy> combined = combine(call);
    ASSERT_TRUE(combined) << combined.error().message;
    EXPECT_EQ(combined.value().policy.wall, WallKind::container);
    EXPECT_FALSE(combined.value().policy.walls);
  }
}

TEST(Policies, ACallChoosesAmongTheWallsThatTheOperatorEnabled) {
  Policy call;
  call.wall = WallKind::runc;
  Result<CombinedPolicy> refused = combine(call);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::denied);
  EXPECT_EQ(refused.error().message,
            "the wall 'runc' is not among those that the operator enabled");
  EXPECT_EQ(refused.error().hint, "the operator enables it with: [isolation] walls = [\"runc\"]");

  PolicyFile file("[isolation]\nwalls = [\"runc\"]\n");
  Result<Policies> policies = Policies::create(file.path());
  ASSERT_TRUE(policies) << policies.error().message;
  Result<CombinedPolicy> chosen = policies.value().combine("", call);
  if (chosen)
    EXPECT_EQ(chosen.value().policy.wall, WallKind::runc);
  else
    EXPECT_EQ(chosen.error().message, "the wall 'runc': runc is not installed");
  EXPECT_EQ(policies.value().combine("", {}).value().policy.wall, WallKind::container);
  call.wall = WallKind::crun;
  EXPECT_EQ(policies.value().combine("", call).error().code, Code::denied);
  call.wall = WallKind::container;
  EXPECT_TRUE(policies.value().combine("", call));
}

TEST(Policies, AWallThatTheOperatorFixesHoldsForEveryCall) {
  PolicyFile file("[isolation]\nwall = \"container\"\nwalls = [\"runc\"]\n");
  Result<Policies> policies = Policies::create(file.path());
  ASSERT_TRUE(policies) << policies.error().message;
  Policy call;
  call.wall = WallKind::runc;
  EXPECT_EQ(policies.value().combine("", call).error().code, Code::denied);
  PolicyFile other("[isolation]\nwall = \"runc\"\n");
  Result<Policies> fixed = Policies::create(other.path());
  if (!fixed) {
    EXPECT_EQ(fixed.error().message, "the wall 'runc': runc is not installed");
    return;
  }
  EXPECT_EQ(fixed.value().combine("", {}).value().policy.wall, WallKind::runc);
  call.wall = WallKind::container;
  EXPECT_EQ(fixed.value().combine("", call).error().code, Code::denied);
}

TEST(Policies, ATenantEnablesNoWall) {
  PolicyFile lists("[isolation]\nwalls = [\"runc\"]\n");
  PolicyFile fixes("[isolation]\nwall = \"runc\"\n");
  Policies policies = Policies::create("").value();
  EXPECT_EQ(policies.combine(lists.path(), {}).error().code, Code::unsupported);
  EXPECT_EQ(policies.combine(fixes.path(), {}).error().code, Code::denied);
}

TEST(Policies, ACallMayRaiseTheFloorAndNotLowerIt) {
  Policy call;
  call.at_least = WallKind::gvisor;
  Result<CombinedPolicy> raised = combine(call);
  ASSERT_FALSE(raised);
  EXPECT_EQ(raised.error().code, Code::unsupported);
  EXPECT_NE(raised.error().message.find("no wall as strong as 'gvisor'"), std::string::npos)
      << raised.error().message;
  PolicyFile file("[isolation]\nat_least = \"container\"\n");
  call.at_least = WallKind::process;
  Result<CombinedPolicy> kept = Policies::create(file.path()).value().combine("", call);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept.value().policy.at_least, WallKind::container);
  EXPECT_EQ(kept.value().policy.wall, WallKind::container);
}

TEST(Policies, TheOperatorsHeadersGoWithTheirHosts) {
  PolicyFile file(
      "[network]\nallow = [\"api.example.com\", \"pypi.org\"]\n[[network.inject]]\nhost = "
      "\"api.example.com\"\nheader = \"x-key\"\nsecret = \"env:SOME_KEY\"\n");
  Result<Policies> policies = Policies::create(file.path());
  ASSERT_TRUE(policies) << policies.error().message;
  Policy call;
  call.network.allow = {"pypi.org"};
  Result<CombinedPolicy> without = policies.value().combine("", call);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_TRUE(without.value().policy.network.inject.empty());
  call.network.allow = {"api.example.com"};
  Result<CombinedPolicy> with = policies.value().combine("", call);
  ASSERT_TRUE(with) << with.error().message;
  EXPECT_EQ(with.value().policy.network.inject.size(), 1u);
  PolicyFile wrong(
      "[network]\nallow = [\"pypi.org\"]\n[[network.inject]]\nhost = \"api.example.com\"\nheader = "
      "\"x-key\"\nsecret = \"env:SOME_KEY\"\n");
  EXPECT_FALSE(Policies::create(wrong.path()));
}

TEST(RecordedPolicy, HasNoValues) {
  Policy policy;
  policy.env.set = {{"LANG", "plain-value"}};
  policy.env.pass = std::vector<std::string>{"HOME"};
  policy.tools =
      std::vector<ToolPolicy>{{"search", "{\"name\":\"search\",\"token\":\"plain-value\"}"}};
  policy.network.inject.push_back(
      {.host = "a.example", .header = "X-Key", .secret = "plain-value"});
  std::string text = to_json(recorded_policy(policy));
  EXPECT_EQ(text.find("plain-value"), std::string::npos) << text;
  EXPECT_NE(text.find("\"env\":{\"set\":[\"LANG\"],\"pass\":[\"HOME\"]}"), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"tools\":[\"search\"]"), std::string::npos) << text;
}

}  // namespace paddock::manager
