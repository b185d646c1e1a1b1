#include "api/native/describe.h"

#include "base/error_table.h"
#include "base/record.h"
#include "base/text.h"
#include "redact/redact.h"
#include "run/run.h"

namespace paddock::api {

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

namespace {

using paddock::field;  // envd has a function of this name, too
using Info = manager::SandboxInfo;

// What is shown of a sandbox, in the order in which it is.
constexpr auto kName = std::make_tuple(field("id", &Info::id), field("name", &Info::name),
                                       field("tenant", &Info::tenant));
constexpr auto kLife = std::make_tuple(
    field("template_id", &Info::template_id), field("state", &Info::state),
    field("has_memory", &Info::has_memory), field("created_ms", &Info::created),
    field("started_ms", &Info::started), field("ends_ms", &Info::ends),
    field("timeout_ms", &Info::timeout_ms), field("idle_timeout_ms", &Info::idle_timeout_ms));
constexpr auto kSize = std::make_tuple(
    field("memory_bytes", &Info::memory_bytes), field("cpu_millicores", &Info::cpu_millicores),
    field("disk_bytes", &Info::disk_bytes), field("public_traffic", &Info::public_traffic));
constexpr auto kMount = std::make_tuple(field("name", &manager::VolumeMount::name),
                                        field("path", &manager::VolumeMount::path),
                                        field("read_only", &manager::VolumeMount::read_only));
constexpr auto kSnapshot = std::make_tuple(
    field("id", &manager::Snapshot::id), field("sandbox", &manager::Snapshot::sandbox),
    field("name", &manager::Snapshot::name), field("tag", &manager::Snapshot::tag),
    field("created_ms", &manager::Snapshot::created), field("bytes", &manager::Snapshot::bytes));
constexpr auto kVolume = std::make_tuple(field("id", &manager::VolumeInfo::id),
                                         field("name", &manager::VolumeInfo::name),
                                         field("quota_bytes", &manager::VolumeInfo::quota_bytes),
                                         field("used_bytes", &manager::VolumeInfo::used_bytes),
                                         field("created_ms", &manager::VolumeInfo::created));

}  // namespace

Value describe(const manager::Sandbox& sandbox, const manager::Caller& caller) {
  const Info& info = sandbox.info();
  Value value = write_record(kName, info);
  value.set("template", info.template_alias.empty() ? info.template_id : info.template_alias);
  write_fields(kLife, info, value);
  value.set("on_timeout", info.lifecycle.pause_on_timeout ? "pause" : "kill");
  value.set("auto_resume", info.lifecycle.auto_resume);
  value.set("metadata", text_table(info.metadata));
  bool may_use = caller.may("sandboxes");
  if (may_use) value.set("env", text_table(info.env));
  if (may_use) value.set("secrets", names_of(info.secrets));
  Value::Array volumes;
  for (const manager::VolumeMount& mount : info.volumes)
    volumes.push_back(write_record(kMount, mount));
  value.set("volumes", std::move(volumes));
  write_fields(kSize, info, value);
  if (may_use) value.set("access_token", info.access_token);
  if (may_use && !info.public_traffic) value.set("traffic_token", info.traffic_token);
  value.set("notes", text_list(info.notes));
  value.set("ended_because", info.ended_because);
  if (const UsageSample* usage = sandbox.usage()) value.set("usage", to_value(*usage));
  return value;
}

Value describe(const manager::Snapshot& snapshot) { return write_record(kSnapshot, snapshot); }

Value describe(const manager::VolumeInfo& volume) { return write_record(kVolume, volume); }

}  // namespace paddock::api
