// Tools of several layers: nothing that one layer forbids comes back through another one's tool.
#include "policy/tools/combine.h"

#include "policy/decode.h"
#include "policy/explain.h"
#include "policy/presets.h"
#include "policy/test_cases.h"
#include "policy/tools/tool.h"

namespace paddock::policy {

namespace {

Policy decoded(const std::string& text, const std::string& name) {
  DecodeContext context;
  context.base_directory = "/project";
  Result<Policy> policy = decode_text(text, name, context);
  EXPECT_TRUE(policy) << policy.error().message;
  return policy ? std::move(policy).value() : Policy{};
}

Combined combined(const std::vector<Layer>& layers, const Policy& call = {}) {
  Result<Combined> result = combine(layers, call, preset("default").value());
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(result).value() : Combined{};
}

const char kProject[] = R"(
[limits]
memory = "64M"
[[tools]]
name = "weather"
timeout = "10m"
output = "8M"
run = ["python3", "tools/weather.py"]
[tools.sandbox]
limits = { memory = "1G", wall_time = "1h" }
files = { read = ["/opt/models", "/etc/app"], write = ["/srv/out"] }
network = { allow = ["api.example.com", "evil.example"], inject = [{ host = "api.example.com", header = "X-Key", secret = "env:KEY" }] }
env = { set = { MODE = "tool" }, pass = ["TERM", "TOKEN"] }
)";

}  // namespace

TEST(CombineTools, ALayerThatDidNotBringAToolNarrowsItsSandbox) {
  Policy organisation = decoded(R"(
[limits]
memory = "128M"
cpu_time = "5s"
[files]
read = ["/opt", "/project/tools"]
deny = ["**/.env"]
write = []
tmp_exec = false
[network]
allow = ["*.example.com", "pypi.org"]
deny = ["evil.example"]
strict = true
[env]
set = { SECRET = "of the organisation" }
pass = ["TERM", "HOME"]
[calls]
timeout = "1m"
output = "1M"
)",
                                "organisation.toml");
  Combined result = combined({{organisation}, {decoded(kProject, "project.toml")}});
  Tools tools = Tools::compile(result.policy).value();
  const Tool& tool = *tools.find("weather");
  const Policy& sandbox = *tool.sandbox;
  EXPECT_EQ(*sandbox.limits[LimitKind::memory], 128u << 20);
  EXPECT_EQ(*sandbox.limits[LimitKind::cpu_time], 5000u);
  // Of which the organisation says nothing.
  EXPECT_EQ(*sandbox.limits[LimitKind::wall_time], 3'600'000u);
  EXPECT_EQ(sandbox.files.read,
            (std::vector<std::string>{"/opt/models", "/project/tools/weather.py"}));
  EXPECT_EQ(sandbox.files.write, std::vector<std::string>{});
  EXPECT_EQ(sandbox.files.deny, std::vector<std::string>{"**/.env"});
  EXPECT_EQ(sandbox.files.tmp_exec, false);
  EXPECT_EQ(sandbox.network.allow, std::vector<std::string>{"api.example.com"});
  EXPECT_EQ(sandbox.network.deny, std::vector<std::string>{"evil.example"});
  EXPECT_EQ(sandbox.network.strict, true);
  EXPECT_EQ(sandbox.network.inject.size(), 1u);
  EXPECT_EQ(sandbox.env.set.count("SECRET"), 0u);
  EXPECT_EQ(sandbox.env.set.at("MODE"), "tool");
  EXPECT_EQ(sandbox.env.pass, std::vector<std::string>{"TERM"});
  EXPECT_EQ(tool.timeout_ms, 60'000);
  EXPECT_EQ(tool.output_bytes, 1u << 20);
  bool noted = false;
  for (const std::string& note : result.notes)
    noted =
        noted ||
        note ==
            "tools.weather.sandbox: memory: 1G asked for, policy 'organisation.toml' allows 128M";
  EXPECT_TRUE(noted) << join(result.notes, "\n");
  // What is shown is what holds.
  Policy again = decoded(to_json(to_value(result.policy, Secrets::kept)), "again.json");
  EXPECT_EQ(canonical(*(*again.tools)[0].sandbox), canonical(*(*result.policy.tools)[0].sandbox));
  EXPECT_EQ(to_json(to_value(again, Secrets::kept)),
            to_json(to_value(result.policy, Secrets::kept)));
}

TEST(CombineTools, ALayerNeverGrantsAToolAnything) {
  Policy project = decoded("[[tools]]\nname = \"t\"\nrun = [\"x\"]\n", "project.toml");
  Policy generous = decoded(R"(
[files]
read = ["/opt"]
write = ["/srv"]
workspace = { path = "/work", mode = "rw" }
[network]
allow = ["example.com"]
inject = [{ host = "example.com", header = "X", secret = "env:X" }]
[env]
set = { A = "b" }
pass = ["HOME"]
[limits]
memory = "100G"
wall_time = "100h"
)",
                            "generous.toml");
  Combined result = combined({{generous}, {project}});
  const Policy &before = *(*project.tools)[0].sandbox, &after = *(*result.policy.tools)[0].sandbox;
  EXPECT_EQ(after.files.read, std::vector<std::string>{});
  EXPECT_EQ(after.files.write, std::vector<std::string>{});
  EXPECT_FALSE(after.files.workspace);
  EXPECT_EQ(after.network.allow, std::vector<std::string>{});
  EXPECT_TRUE(after.network.inject.empty());
  EXPECT_EQ(after.env.pass, std::vector<std::string>{});
  EXPECT_EQ(after.env.set, before.env.set);
}

TEST(CombineTools, TheFileThatBringsAToolSaysItAll) {
  Combined alone =
      combined({{preset("strict").value(), false}, {decoded(kProject, "project.toml")}});
  // Neither its own [limits] nor what it extends.
  EXPECT_EQ(*(*alone.policy.tools)[0].sandbox->limits[LimitKind::memory], 1u << 30);
  Policy call;
  call.limits[LimitKind::memory] = 32 << 20;
  Combined called = combined({{decoded(kProject, "project.toml")}}, call);
  EXPECT_EQ(*(*called.policy.tools)[0].sandbox->limits[LimitKind::memory], 32u << 20);
  // Both have it: both mean it.
  Combined both = combined({{decoded(kProject, "a.toml")}, {decoded(kProject, "b.toml")}});
  EXPECT_EQ(*(*both.policy.tools)[0].sandbox->limits[LimitKind::memory], 1u << 30);
}

TEST(CombineTools, ADangerNeedsEveryLayer) {
  Policy project = decoded(R"(
[[tools]]
name = "t"
run = ["x"]
sandbox = { network = { allow = ["*"] }, danger = { allow = ["network.wide"] } }
)",
                           "project.toml");
  EXPECT_EQ((*combined({{project}}).policy.tools)[0].sandbox->danger.size(), 1u);
  Combined with_other = combined({{decoded("version = 1", "organisation.toml")}, {project}});
  EXPECT_TRUE(with_other.policy.tools->empty());
  EXPECT_NE(join(with_other.notes, "\n")
                .find("tools.t.sandbox: network.allow: '*' opens more than one owner's hosts: t is "
                      "left out"),
            std::string::npos)
      << join(with_other.notes, "\n");
}

TEST(CombineTools, AnAddressOutsideMustBeAllowedByTheOthers) {
  Policy project = decoded(R"(
[[tools]]
name = "t"
ask = { webhook = "https://hooks.example/x", webhook_secret = "env:X" }
[mcp.servers.near]
url = "https://mcp.example.com/"
[mcp.servers.far]
url = "https://mcp.evil.example/"
)",
                           "project.toml");
  Policy organisation =
      decoded("[network]\nallow = [\"*.example.com:443\"]\n", "organisation.toml");
  Combined result = combined({{organisation}, {project}});
  ASSERT_EQ(result.policy.mcp_servers->size(), 1u);
  EXPECT_EQ((*result.policy.mcp_servers)[0].name, "near");
  Tools tools = Tools::compile(result.policy).value();
  EXPECT_TRUE(tools.find("t")->ask);
  EXPECT_EQ(tools.find("t")->ask->webhook, "");
  EXPECT_EQ(result.notes.size(), 2u) << join(result.notes, "\n");
  Policy denying = decoded("[network]\ndeny = [\"*.example.com\"]\n", "denying.toml");
  EXPECT_EQ((*combined({{denying}, {project}}).policy.mcp_servers)[0].name, "far");
}

TEST(CombineTools, ASandboxThatCannotBeBroughtTogetherLeavesItsToolOut) {
  Policy project = decoded(
      "[[tools]]\nname = \"t\"\nrun = [\"x\"]\nsandbox = { isolation = { wall = \"container\" } "
      "}\n[[tools]]\nname = \"u\"\nrun = [\"x\"]\n",
      "project.toml");
  Combined result =
      combined({{decoded("[isolation]\nwall = \"vm\"\n", "organisation.toml")}, {project}});
  ASSERT_EQ(result.policy.tools->size(), 1u);
  EXPECT_EQ((*result.policy.tools)[0].name, "u");
  EXPECT_EQ((*result.policy.tools)[0].sandbox->wall, WallKind::vm);  // it had no opinion
}

TEST(CombineTools, CallsCanOnlyBecomeFewer) {
  Policy a = decoded("[calls]\nrate = \"100/minute\"\nat_once = 4\noutput = \"1M\"\n", "a.toml");
  Policy b = decoded(
      "[calls]\nrate = [\"5/second\", \"100/minute\"]\nagent_rate = \"2/second\"\nat_once = "
      "8\ntimeout = \"30s\"\ndry_run = true\n",
      "b.toml");
  Calls calls = Tools::compile(combined({{a}, {b}}).policy).value().calls();
  EXPECT_EQ(calls.rates.size(), 2u);
  EXPECT_EQ(calls.agent_rates.size(), 1u);
  EXPECT_EQ(calls.at_once, 4u);
  EXPECT_EQ(calls.output_bytes, 1u << 20);
  EXPECT_EQ(calls.timeout_ms, 30'000);
  EXPECT_TRUE(calls.dry_run);
}

TEST(CombineTools, ServersAreCombinedLikeTools) {
  Policy a =
      decoded("[mcp.servers.x]\ncommand = [\"x\"]\n[mcp.servers.y]\ncommand = [\"y\"]\n", "a.toml");
  Policy b = decoded("[mcp.servers.y]\ncommand = [\"y\"]\n", "b.toml");
  EXPECT_EQ(combined({{a}, {b}}).policy.mcp_servers->size(), 1u);
  Policy c = decoded("[mcp.servers.y]\ncommand = [\"y\", \"z\"]\n", "c.toml");
  Result<Combined> differ = combine({{a}, {c}}, {}, {});
  ASSERT_FALSE(differ);
  EXPECT_EQ(differ.error().message,
            "mcp.servers: 'a.toml' and 'c.toml' have different entries for 'y'");
}

TEST(ToolsShown, WithoutTheirSecrets) {
  Policy policy = decoded(R"(
[calls]
agent_rate = "20/minute"
[[tools]]
name = "t"
title = "A tool"
rate = ["10/minute", "5/30s, burst 2"]
rules = [ { param = "to", ends_with = "@company.com", why = "only inside" } ]
ask = { timeout = "1m", remember = "1h", webhook = "https://hooks.example/x", webhook_secret = "literal-secret-1" }
run = ["x"]
sandbox = { network = { allow = ["example.com"], inject = [{ host = "example.com", header = "A", secret = "literal-secret-2" }] } }
[mcp.servers.near]
command = ["node", "server.js"]
secrets = { KEY = "literal-secret-3", OTHER = "env:OTHER" }
tools = ["read_file"]
[mcp.servers.far]
url = "https://mcp.example.com/"
headers = { Authorization = "literal-secret-4" }
tools = ["*"]
sampling = true
)",
                          "policy.toml");
  for (const std::string& shown :
       {canonical(policy), to_toml(policy), explain(policy), to_json(to_value(policy))})
    EXPECT_EQ(shown.find("literal-secret"), std::string::npos) << shown;
  std::string kept = to_json(to_value(policy, Secrets::kept));
  Policy again = decoded(kept, "again.json");
  EXPECT_EQ(to_json(to_value(again, Secrets::kept)), kept);
  EXPECT_EQ(canonical(again), canonical(policy));
  std::string words = explain(policy);
  for (const char* part :
       {"10/minute and 5/30s, burst 2, all agents together",
        "to must end with '@company.com': only inside", "somebody has to agree within 1m",
        "holds for the same call for 1h", "https://hooks.example/x is told",
        "near__ in front of its names", "ask the client's model", "20/minute, each agent",
        "read_file", "all it has", "env:OTHER", "reaches example.com"})
    EXPECT_NE(words.find(part), std::string::npos) << part << "\n" << words;
}

TEST(ToolsShown, AsTomlThatReadsBack) {
  Policy policy = decoded(
      std::string(kProject) +
          "\n[calls]\nrate = \"5/second\"\n[mcp.servers.a-b]\ncommand = [\"x\"]\ntools = [\"*\"]\n",
      "policy.toml");
  std::string toml = to_toml(policy);
  Result<Policy> again = decode_text(toml, "again.toml", {});
  ASSERT_TRUE(again) << again.error().message << "\n" << toml;
  EXPECT_EQ(canonical(again.value()), canonical(policy));
}

}  // namespace paddock::policy
