#include "api/native/describe.h"

#include "base/error_table.h"
#include "base/text.h"
#include "redact/redact.h"
#include "run/run.h"

namespace paddock::api {

Value describe_texts(const std::map<std::string, std::string>& texts) {
  Value object(Value::Object{});
  for (const auto& [name, text] : texts) object.set(name, text);
  return object;
}

// Only the names of secrets are ever shown.
static Value names_of(const std::map<std::string, std::string>& secrets) {
  Value::Array names;
  for (const auto& [name, value] : secrets) names.push_back(name);
  return names;
}

Value describe_error(const Error& error, int status) {
  return Value::Object{{"code", status},
                       {"message", error.message},
                       {"error", to_string(error.code)},
                       {"hint", error.hint}};
}

Reply error_reply(Call& call, const Error& error) {
  note_failure(call, error);
  const Exchange& exchange = call.exchange;
  int status = exchange.body_too_large() ? 413 : exchange.body_failed() ? 400 : http_status(error);
  Error shown = error;
  if (call.redaction) shown.message = redact::redacted(*call.redaction, error.message);
  // The server's own paths (/health, /mcp, …) tell no more than the message.
  if (!starts_with(exchange.path(), "/v1/")) return refusal(status, shown.message);
  return Reply::json(status, describe_error(shown, status));
}

Value describe(const manager::Sandbox& sandbox, const manager::Caller& caller) {
  const manager::SandboxInfo& info = sandbox.info();
  Value value;
  value.set("id", info.id);
  value.set("name", info.name);
  value.set("tenant", info.tenant);
  value.set("template", info.template_alias.empty() ? info.template_id : info.template_alias);
  value.set("template_id", info.template_id);
  value.set("state", manager::to_string(info.state));
  value.set("has_memory", info.has_memory);
  value.set("created_ms", info.created);
  value.set("started_ms", info.started);
  value.set("ends_ms", info.ends);
  value.set("timeout_ms", info.timeout_ms);
  value.set("idle_timeout_ms", info.idle_timeout_ms);
  value.set("on_timeout", info.lifecycle.pause_on_timeout ? "pause" : "kill");
  value.set("auto_resume", info.lifecycle.auto_resume);
  value.set("metadata", describe_texts(info.metadata));
  bool may_use = caller.may("sandboxes");
  if (may_use) value.set("env", describe_texts(info.env));
  if (may_use) value.set("secrets", names_of(info.secrets));
  Value::Array volumes;
  for (const manager::VolumeMount& mount : info.volumes) {
    Value volume;
    volume.set("name", mount.name);
    volume.set("path", mount.path);
    volume.set("read_only", mount.read_only);
    volumes.push_back(std::move(volume));
  }
  value.set("volumes", std::move(volumes));
  value.set("memory_bytes", info.memory_bytes);
  value.set("cpu_millicores", info.cpu_millicores);
  value.set("disk_bytes", info.disk_bytes);
  value.set("public_traffic", info.public_traffic);
  if (may_use) value.set("access_token", info.access_token);
  if (may_use && !info.public_traffic) value.set("traffic_token", info.traffic_token);
  value.set("notes", text_list(info.notes));
  value.set("ended_because", info.ended_because);
  if (const UsageSample* usage = sandbox.usage()) value.set("usage", to_value(*usage));
  return value;
}

Value describe(const manager::Snapshot& snapshot) {
  Value value;
  value.set("id", snapshot.id);
  value.set("sandbox", snapshot.sandbox);
  value.set("name", snapshot.name);
  value.set("tag", snapshot.tag);
  value.set("created_ms", snapshot.created);
  value.set("bytes", snapshot.bytes);
  return value;
}

Value describe(const manager::VolumeInfo& volume) {
  Value value;
  value.set("id", volume.id);
  value.set("name", volume.name);
  value.set("quota_bytes", volume.quota_bytes);
  value.set("used_bytes", volume.used_bytes);
  value.set("created_ms", volume.created);
  return value;
}

}  // namespace paddock::api
