// What E2B's control plane reads and writes everywhere: bodies, errors, times, sandboxes. And what
// is not offered; docs/e2b.md lists all that is.
#include <algorithm>

#include "api/e2b/control.h"
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "base/error_table.h"
#include "base/event.h"
#include "base/instant.h"
#include "base/record.h"
#include "base/text.h"
#include "base/units.h"

namespace paddock::api::e2b {
namespace {

constexpr size_t kLargestPage = 100;
constexpr int64_t kMostSeconds = 10LL * 365 * 86400;
constexpr manager::WallTime kNever = 253402300799000;  // the end of the year 9999

// E2B knows two states only.
const char* state_text(manager::SandboxState state) {
  bool sleeps = state == manager::SandboxState::paused || state == manager::SandboxState::pausing;
  return sleeps ? "paused" : "running";
}

// What it was asked to reach; what it reaches, where the policy of the server or the tenant
// narrowed that.
Value network_of(const manager::SandboxInfo& info, Value& internet) {
  const Value* kept = info.extra.find("network");
  Value network = kept && kept->as_object() ? *kept : Value(Value::Object{});
  const Value* asked = info.extra.find("allow_internet_access");
  internet = asked ? *asked : Value();
  bool asked_for_all = flag_in(info.extra, "asked_for_all");
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

// E2B keeps secrets for its users. Saying what to do instead is better than a 404.
io::Task<Result<Reply>> refuse_secrets(Call&) {
  co_return refusal(501,
                    "secrets are not kept by this server; give headers to inject as network.rules, "
                    "or values as envVars");
}

// A tenant is a team. Keys are kept as hashes: there is none to show.
io::Task<Result<Reply>> teams(Call& call) {
  Value team = Value::Object{{"teamID", call.caller.tenant},
                             {"name", call.caller.tenant},
                             {"apiKey", ""},
                             {"isDefault", true}};
  co_return Reply::json(200, Value::Array{std::move(team)});
}

}  // namespace

std::string sandbox_id(const Call& call) {
  std::string id = call.id();
  return id.substr(0, id.find('-'));
}

Reply error_reply(Call& call, const Error& error) {
  note_failure(call, error);
  std::string message = error.message;
  if (!error.hint.empty() && error.code != Code::not_found) message += cat(" (", error.hint, ")");
  return refusal(http_status(error), message);
}

io::Task<Result<Value>> read_object(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json());
  if (!body.as_object())
    co_return Error{Code::invalid, "read the request: its body is not a JSON object"};
  co_return body;
}

std::string time_text(manager::WallTime time) {
  return rfc3339((time == 0 ? kNever : time) * 1000, 3);
}

Result<manager::WallTime> parse_time(const std::string& text) {
  return TRY(parse_rfc3339(text)) / 1000;
}

Result<int64_t> seconds_to_ms(const Value& body, const char* name, int64_t otherwise) {
  const Value* value = body.find(name);
  if (!value || value->is_null()) return otherwise * 1000;
  if (!value->as_int())
    return Error{Code::invalid, cat(name, " must be a whole number of seconds")};
  if (*value->as_int() < 0 || *value->as_int() > kMostSeconds)
    return Error{Code::invalid, cat(name, " must be between 0 and ", kMostSeconds, " seconds")};
  return *value->as_int() * 1000;
}

std::optional<int64_t> number_in_query(const Call& call, const char* name) {
  return parse_digits(call.query(name), 16);
}

Result<std::map<std::string, std::string>> text_map(const Value& body, const char* name) {
  std::map<std::string, std::string> map;
  const Value* object = body.find(name);
  if (object && !object->is_null() && !from_field(*object, map))
    return Error{Code::invalid, cat(name, " must be an object of strings")};
  return map;
}

Result<size_t> page_limit(const Call& call) {
  if (call.query("limit").empty()) return kLargestPage;
  int64_t limit = number_in_query(call, "limit").value_or(0);
  if (limit < 1 || limit > static_cast<int64_t>(kLargestPage))
    return Error{Code::invalid, cat("limit must be between 1 and ", kLargestPage)};
  return static_cast<size_t>(limit);
}

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

// What a list shows of a sandbox. Its token is not among it.
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
  json.set("metadata", text_table(info.metadata));
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

std::vector<Route> other_routes() {
  return {
      {"GET", "/teams", "read", teams},
      {"GET", "/secrets", "read", refuse_secrets},
      {"POST", "/secrets", "sandboxes", refuse_secrets},
      {"GET", "/secrets/{name}", "read", refuse_secrets},
      {"POST", "/secrets/{name}", "sandboxes", refuse_secrets},
      {"DELETE", "/secrets/{name}", "sandboxes", refuse_secrets},
  };
}

}  // namespace paddock::api::e2b
