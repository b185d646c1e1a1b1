#include "manager/sandbox_events.h"

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "policy/explain.h"
#include "policy/network/rule.h"

namespace paddock::manager {

namespace {

constexpr size_t kMostNotes = 20;
// In bytes. For a larger policy the hash is recorded too, because the log may cut long data.
constexpr size_t kMostAsked = 4 << 10;

// Values may be secrets, so that only names are recorded.
Value names_of(const std::map<std::string, std::string>& table) {
  Value::Array names;
  for (const auto& [name, value] : table) names.push_back(name);
  return names;
}

Value limits_of(const Policy& policy) {
  Value limits{Value::Object{}};
  for (const LimitInfo& info : kLimits)
    if (policy.limits[info.kind]) limits.set(info.name, *policy.limits[info.kind]);
  return limits;
}

}  // namespace

// Two policies with the same meaning have the same hash, whatever their files look like.
std::string policy_hash(const Policy& policy) {
  return to_hex(sha256_bytes(policy::canonical(policy)));
}

// Of variables, tools and servers only the names are recorded: their values may be secrets, and
// they may be large.
Value recorded_policy(const Policy& policy) {
  Policy shown = policy;
  shown.env.set.clear();
  shown.tools.reset();
  shown.calls.reset();
  shown.mcp_servers.reset();
  shown.env.pass.reset();
  Value value = policy::to_value(shown, policy::Secrets::hidden), env;
  if (!policy.env.set.empty()) env.set("set", names_of(policy.env.set));
  if (policy.env.pass) env.set("pass", text_list(*policy.env.pass));
  if (!env.is_null()) value.set("env", std::move(env));
  auto set_names = [&](const char* key, const std::optional<std::vector<ToolPolicy>>& entries) {
    if (!entries) return;
    Value::Array names;
    for (const ToolPolicy& entry : *entries) names.push_back(entry.name);
    value.set(key, std::move(names));
  };
  set_names("tools", policy.tools);
  set_names("mcp_servers", policy.mcp_servers);
  return value;
}

// For what happens in a sandbox by itself.
Event event_about(const Sandbox& sandbox, std::string kind) {
  Event event = sandbox.cause().instant(std::move(kind));
  event.sandbox = sandbox.info().id;
  event.tenant = sandbox.info().tenant;
  event.agent = sandbox.info().agent;
  return event;
}

// For what a caller does; the agent is the caller's if it names one.
Event event_about(const Sandbox& sandbox, std::string kind, const Caller& caller) {
  Event event = caller.cause.instant(std::move(kind));
  event.sandbox = sandbox.info().id;
  event.tenant = sandbox.info().tenant;
  event.agent = caller.agent.empty() ? sandbox.info().agent : caller.agent;
  return event;
}

// `act` says what is done, and `data` brings the rest of its members along.
Event admin_event(const Caller& caller, const std::string& act, Value data) {
  Event event = caller.cause.instant("admin");
  event.tenant = caller.tenant;
  event.agent = caller.agent;
  event.verdict = "allow";
  event.data.set("act", act);
  event.data.set("key", caller.key);
  if (const Value::Object* members = data.as_object())
    for (const auto& [name, value] : *members) event.data.set(name, value);
  return event;
}

Value creation_of(const SandboxInfo& info, const CreateOptions& asked, const std::string& key) {
  Value data;
  data.set("key", key);
  data.set("name", info.name);
  data.set("template", info.template_alias.empty() ? info.template_id : info.template_alias);
  data.set("template_id", info.template_id);
  data.set("wall", to_string(info.policy.wall.value_or(WallKind::container)));
  data.set("policy", info.policy_hash);
  data.set("limits", limits_of(info.policy));
  data.set("danger", text_list({info.policy.danger.begin(), info.policy.danger.end()}));
  data.set("timeout_ms", info.timeout_ms);
  data.set("idle_timeout_ms", info.idle_timeout_ms);
  data.set("env", names_of(info.env));
  data.set("secrets", names_of(info.secrets));
  Value::Array volumes;
  for (const VolumeMount& mount : info.volumes)
    volumes.push_back(cat(mount.name, ":", mount.path, mount.read_only ? ":ro" : ":rw"));
  if (!info.workspace.empty())
    volumes.push_back(cat(info.workspace.substr(0, info.workspace.rfind(':')), ":",
                          wall::kWorkspace, info.workspace.substr(info.workspace.rfind(':'))));
  data.set("volumes", std::move(volumes));
  Value wish = recorded_policy(asked.policy);
  std::string text = to_json(wish);
  if (text.size() > kMostAsked) data.set("asked_sha256", to_hex(sha256_bytes(text)));
  data.set("asked", std::move(wish));
  std::vector<std::string> notes(
      info.notes.begin(),
      info.notes.begin() + static_cast<ptrdiff_t>(std::min(info.notes.size(), kMostNotes)));
  data.set("notes", text_list(notes));
  return data;
}

// Whether a host made it necessary (a limit that it cannot enforce, say) is not known here: then
// what is accepted counts.
bool is_weakened(const Policy& policy, const std::string& danger) {
  if (!policy.danger.count(danger)) return false;
  if (danger == "redact.less") return !policy.redact.skip.empty();
  if (danger == "audit.off") return false;  // a server always keeps a log
  if (danger != "network.wide") return true;
  for (const std::string& entry : policy.network.allow.value_or(std::vector<std::string>())) {
    Result<policy::NetworkRule> rule = policy::parse_network_rule(entry);
    if (rule && policy::is_wide(rule.value())) return true;
  }
  return false;
}

// An entry of egress becomes an event. Its own time and id are dropped, since the event has both.
Event connection_of(const Sandbox& sandbox, const Value& entry) {
  Event event = event_about(sandbox, "connection");
  const Value::Object* members = entry.as_object();
  if (!members) return event;
  for (const auto& [name, value] : *members) {
    if (name == "verdict")
      event.verdict = value.as_string() && *value.as_string() == "deny" ? "deny" : "allow";
    else if (name == "duration_ms")
      event.duration_us = static_cast<int64_t>(
          (value.as_double() ? *value.as_double()
                             : static_cast<double>(value.as_int() ? *value.as_int() : 0)) *
          1000);
    else if (name != "time" && name != "sandbox")
      event.data.set(name, value);
  }
  return event;
}

}  // namespace paddock::manager
