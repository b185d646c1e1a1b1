// Sandboxes as E2B says them.
#include <algorithm>

#include "api/e2b.h"
#include "api/server.h"
#include "base/text.h"

namespace paddock::api::e2b {
namespace {

const char* state_text(manager::SandboxState state) {
  bool sleeps = state == manager::SandboxState::paused || state == manager::SandboxState::pausing;
  return sleeps ? "paused" : "running";
}

Value map_json(const std::map<std::string, std::string>& map) {
  Value object = Value::Object{};
  for (const auto& [key, value] : map) object.set(key, value);
  return object;
}

// What it was asked to reach; what it reaches, where the policy of the server or the tenant
// narrowed that.
Value network_of(const manager::SandboxInfo& info, Value& internet) {
  const Value* kept = info.extra.find("network");
  Value network = kept && kept->as_object() ? *kept : Value(Value::Object{});
  const Value* asked = info.extra.find("allow_internet_access");
  internet = asked ? *asked : Value();
  bool asked_for_all = info.extra.find("asked_for_all") &&
                       info.extra.find("asked_for_all")->as_bool() &&
                       *info.extra.find("asked_for_all")->as_bool();
  std::vector<std::string> allowed = info.policy.network.allow.value_or(std::vector<std::string>());
  bool has_all = std::find(allowed.begin(), allowed.end(), "*") != allowed.end();
  if (!asked_for_all || has_all) return network;
  Value narrowed =
      Value::Object{{"allowOut", text_list(allowed)}, {"denyOut", Value::Array{"0.0.0.0/0"}}};
  for (const char* rest : {"allowPublicTraffic", "maskRequestHost", "rules"})
    if (const Value* value = network.find(rest)) narrowed.set(rest, *value);
  if (allowed.empty()) internet = false;
  return narrowed;
}

}  // namespace

Value extra_of(const E2bNetwork& network, const std::optional<bool>& public_traffic,
               const std::string& mask_request_host) {
  Value kept = network_json(network);
  if (public_traffic) kept.set("allowPublicTraffic", *public_traffic);
  if (!mask_request_host.empty()) kept.set("maskRequestHost", mask_request_host);
  Value extra = Value::Object{{"network", std::move(kept)}};
  if (network.internet) extra.set("allow_internet_access", *network.internet);
  Result<NetworkPolicy> policy = to_policy(network);
  bool all = policy && std::find(policy.value().allow->begin(), policy.value().allow->end(), "*") !=
                           policy.value().allow->end();
  extra.set("asked_for_all", all);
  return extra;
}

Value sandbox_json(const Call& call, const manager::SandboxInfo& info) {
  Value json = Value::Object{{"templateID", info.template_id},
                             {"sandboxID", info.id},
                             {"clientID", "paddock"},
                             {"envdVersion", kEnvdVersion}};
  if (!info.template_alias.empty()) json.set("alias", info.template_alias);
  json.set("envdAccessToken", info.access_token);
  json.set("trafficAccessToken", info.public_traffic ? Value() : Value(info.traffic_token));
  json.set("domain", call.server.domain());
  return json;
}

Value listed_json(const manager::SandboxInfo& info) {
  Value json = Value::Object{
      {"templateID", info.template_id}, {"sandboxID", info.id}, {"clientID", "paddock"}};
  if (!info.template_alias.empty()) json.set("alias", info.template_alias);
  json.set("startedAt", time_text(info.started));
  json.set("endAt", time_text(info.ends));
  json.set("cpuCount", std::max<uint64_t>(1, (info.cpu_millicores + 999) / 1000));
  json.set("memoryMB", info.memory_bytes >> 20);
  json.set("diskSizeMB", info.disk_bytes >> 20);
  json.set("state", state_text(info.state));
  json.set("envdVersion", kEnvdVersion);
  json.set("metadata", map_json(info.metadata));
  if (!info.volumes.empty()) {
    Value::Array mounts;
    for (const manager::VolumeMount& volume : info.volumes)
      mounts.push_back(Value::Object{{"name", volume.name}, {"path", volume.path}});
    json.set("volumeMounts", std::move(mounts));
  }
  return json;
}

Value detail_json(const Call& call, const manager::SandboxInfo& info) {
  Value json = listed_json(info);
  Value internet;
  Value network = network_of(info, internet);
  // With it one may do anything inside.
  if (call.caller.may("sandboxes")) json.set("envdAccessToken", info.access_token);
  json.set("domain", call.server.domain());
  json.set("allowInternetAccess", internet);
  json.set("network", std::move(network));
  json.set("lifecycle",
           Value::Object{{"onTimeout", info.lifecycle.pause_on_timeout ? "pause" : "kill"},
                         {"autoResume", info.lifecycle.auto_resume}});
  return json;
}

}  // namespace paddock::api::e2b
