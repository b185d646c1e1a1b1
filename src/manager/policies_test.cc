#include "manager/policies.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

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
  call.network.allow = {"*", "pypi.org", "10.0.0.5", "192.168.0.0/16", "8.0.0.0/6", "localhost", "169.254.169.254", "203.0.113.7", "8.8.8.8", "[fd00::1]"};
  Result<CombinedPolicy> combined = combine(call);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(*combined.value().policy.network.allow, (std::vector<std::string>{"*", "pypi.org", "203.0.113.7", "8.8.8.8"}));
  EXPECT_EQ(combined.value().notes.size(), 6u);
}

TEST(Policies, ACallNamesNothingOfTheServersMachine) {
  std::vector<Policy> calls(13);
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
  for (const Policy& call : calls) {
    Result<CombinedPolicy> combined = combine(call);
    ASSERT_FALSE(combined);
    EXPECT_EQ(combined.error().code, Code::denied);
  }
}

TEST(Policies, ACallNarrowsAndIsTold) {
  Policy call;
  call.limits[LimitKind::memory] = 4ull << 30;
  call.limits[LimitKind::pids] = 16;
  call.limits[LimitKind::wall_time] = 5000;
  Result<CombinedPolicy> combined = combine(call);
  ASSERT_TRUE(combined);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::memory], 1u << 30);
  EXPECT_EQ(combined.value().policy.limits[LimitKind::pids], 16u);
  EXPECT_EQ(combined.value().longest_life_ms, 5000);
  ASSERT_EQ(combined.value().notes.size(), 1u);
  EXPECT_EQ(combined.value().notes[0], "memory: 4G asked for, policy 'server' allows 1G");
}

TEST(Policies, WhatALivingSandboxCannotHoldIsRefused) {
  Policy call;
  call.commands = {"git"};
  EXPECT_EQ(combine(call).error().code, Code::unsupported);
  Policy process;
  process.wall = WallKind::process;
  EXPECT_EQ(combine(process).error().code, Code::denied);
}

// Calls of tools are judged outside: the operator's policy has them, and sandboxes are made without.
TEST(Policies, TheOperatorsToolsAreNoPartOfASandbox) {
  char path[] = "/tmp/paddock-test-XXXXXX.toml";
  int file = ::mkstemps(path, 5);
  ASSERT_GE(file, 0);
  std::string text = "[calls]\nat_once = 2\n[[tools]]\nname = \"t\"\nrun = [\"x\"]\nsandbox = { isolation = { wall = \"container\" } }\n[mcp.servers.far]\nurl = \"https://mcp.example.com/\"\n";
  ASSERT_EQ(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(file);
  Result<Policies> policies = Policies::create(path);
  Result<CombinedPolicy> combined = policies ? policies.value().combine("", {}) : Result<CombinedPolicy>(policies.error());
  Result<Policy> operators = policies ? policies.value().operators() : Result<Policy>(policies.error());
  ::unlink(path);
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_FALSE(combined.value().policy.tools || combined.value().policy.calls || combined.value().policy.mcp_servers);
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
  for (int i = 0; i < 65; ++i) calls[3].network.inject.push_back({.host = "example.com", .header = "x-" + std::to_string(i), .secret = "s"});
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

}  // namespace paddock::manager
