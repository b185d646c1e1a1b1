#include "policy/presets.h"

#include "policy/explain.h"
#include "policy/test_cases.h"

namespace paddock::policy {

TEST(Presets, AllAreReadable) {
  EXPECT_EQ(preset_names(),
            (std::vector<std::string>{"default", "mcp-server", "mcp", "node", "offline-build",
                                      "python", "server", "strict", "tool"}));
  for (const std::string& name : preset_names()) {
    Result<Policy> policy = preset(name);
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy.value().name, name);
  }
}

// load() resolves one step, and a preset that accepted a danger would hand it to everyone who names
// it. `server` is the operator's side of an intersection with every call's own list of hosts.
TEST(Presets, StandAloneAndAcceptNoDangerButTheServersWideNetwork) {
  for (const std::string& name : preset_names()) {
    Policy policy = preset(name).value();
    EXPECT_EQ(policy.extends, "") << name;
    EXPECT_EQ(policy.danger,
              name == "server" ? std::set<std::string>{"network.wide"} : std::set<std::string>{})
        << name;
  }
}

TEST(Presets, WorkForAnOrdinaryUser) {
  for (const std::string& name : preset_names()) {
    Policy policy = preset(name).value();
    // Nothing can hold it without a delegated cgroup.
    EXPECT_FALSE(policy.limits[LimitKind::cpu]) << name;
    EXPECT_FALSE(policy.limits.require_kernel) << name;
  }
}

TEST(Presets, OnlyTheDefaultAndTheServersChooseAWall) {
  for (const std::string& name : preset_names())
    EXPECT_EQ(preset(name).value().wall.has_value(), name == "default" || name == "server") << name;
}

TEST(Presets, NoneButTheServersOpensTheNetwork) {
  for (const std::string& name : preset_names()) {
    if (name == "server") continue;
    NetworkPolicy network = preset(name).value().network;
    EXPECT_TRUE(network.allow.value_or(std::vector<std::string>{}).empty()) << name;
    EXPECT_TRUE(network.inject.empty()) << name;
  }
}

// A call to a server may name one, and a call has no say in the server's own log and traces.
TEST(Presets, NoneSaysWhereRecordsGo) {
  for (const std::string& name : preset_names())
    for (const char* table : {"audit", "telemetry"})
      EXPECT_EQ(to_value(preset(name).value()).find(table), nullptr) << name;
}

TEST(Presets, NodeHasTheRoomThatNodeNeeds) {
  Policy node = preset("node").value();
  EXPECT_GE(*node.limits[LimitKind::pids], 64u);
  EXPECT_GE(*node.limits[LimitKind::memory], 256u << 20);
}

TEST(Presets, AnUnknownOneComesWithASuggestionAndTheList) {
  Result<Policy> policy = preset("pyton");
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().code, Code::not_found);
  EXPECT_EQ(policy.error().hint,
            "did you mean 'python'? (presets: default, mcp-server, mcp, node, offline-build, "
            "python, server, strict, tool)");
}

}  // namespace paddock::policy
