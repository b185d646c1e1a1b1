#include "manager/sandbox_record.h"

#include "base/record.h"
#include "base/text.h"
#include "manager/checks.h"
#include "policy/decode.h"
#include "policy/explain.h"

namespace paddock::manager {

namespace {

// In the order in which they stand in the file.
constexpr auto kInfoFields = std::make_tuple(
    field("state", &SandboxInfo::state),
    field("has_memory", &SandboxInfo::has_memory, Presence::optional),
    field("id", &SandboxInfo::id), field("tenant", &SandboxInfo::tenant),
    field("name", &SandboxInfo::name), field("template_id", &SandboxInfo::template_id),
    field("template_alias", &SandboxInfo::template_alias),
    field("access_token", &SandboxInfo::access_token),
    field("traffic_token", &SandboxInfo::traffic_token),
    field("mask_request_host", &SandboxInfo::mask_request_host),
    field("boot_id", &SandboxInfo::boot_id),
    // Older servers wrote none of these three.
    field("agent", &SandboxInfo::agent, Presence::optional),
    field("trace", &SandboxInfo::trace, Presence::optional),
    field("span", &SandboxInfo::span, Presence::optional), field("created", &SandboxInfo::created),
    field("started", &SandboxInfo::started), field("ends", &SandboxInfo::ends),
    field("timeout_ms", &SandboxInfo::timeout_ms),
    field("idle_timeout_ms", &SandboxInfo::idle_timeout_ms),
    field("memory_bytes", &SandboxInfo::memory_bytes),
    field("cpu_millicores", &SandboxInfo::cpu_millicores),
    field("disk_bytes", &SandboxInfo::disk_bytes),
    field("public_traffic", &SandboxInfo::public_traffic, Presence::optional),
    field("hidden", &SandboxInfo::hidden, Presence::optional),
    field("lifecycle", &SandboxInfo::lifecycle, Presence::optional),
    field("env", &SandboxInfo::env),
    field("secrets", &SandboxInfo::secrets, Presence::optional),  // older servers knew none
    field("metadata", &SandboxInfo::metadata), field("volumes", &SandboxInfo::volumes),
    field("notes", &SandboxInfo::notes, Presence::optional));

constexpr auto kLifecycleFields =
    std::make_tuple(field("pause_on_timeout", &Lifecycle::pause_on_timeout, Presence::optional),
                    field("pause_keeps_memory", &Lifecycle::pause_keeps_memory, Presence::optional),
                    field("auto_resume", &Lifecycle::auto_resume, Presence::optional));

constexpr auto kMountFields =
    std::make_tuple(field("name", &VolumeMount::name), field("path", &VolumeMount::path),
                    field("read_only", &VolumeMount::read_only, Presence::optional));

constexpr char kWhat[] = "a sandbox's record";

Error malformed(const char* key) {
  return Error{Code::invalid, cat("read ", kWhat, ": '", key, "' is missing or malformed"), ""};
}

// Layers are named relative to the server's directory, so that the whole of it may be moved.
Value paths_value(const std::vector<std::string>& paths, const std::string& server) {
  Value::Array list;
  for (const std::string& path : paths)
    list.push_back(starts_with(path, server + "/") ? path.substr(server.size() + 1) : path);
  return list;
}

// Relative paths are beneath the server's own directory, which may have been moved since.
Result<std::vector<std::string>> paths_from(const Value& record, const char* key,
                                            const std::string& server) {
  std::vector<std::string> paths;
  const Value* list = record.find(key);
  if (!list || !from_field(*list, paths)) return malformed(key);
  for (std::string& path : paths) {
    if (path.empty()) return malformed(key);
    if (path[0] != '/') path = cat(server, "/", path);
  }
  return paths;
}

}  // namespace

static Value to_field(const Lifecycle& lifecycle) {
  return write_record(kLifecycleFields, lifecycle);
}
static bool from_field(const Value& value, Lifecycle& into) {
  return static_cast<bool>(read_record(kLifecycleFields, value, into, kWhat));
}
static Value to_field(const VolumeMount& mount) { return write_record(kMountFields, mount); }
static bool from_field(const Value& value, VolumeMount& into) {
  into.read_only = true;  // where nothing is said
  return static_cast<bool>(read_record(kMountFields, value, into, kWhat));
}

// The secrets of the policy are kept, as the sandbox needs them after a restart. The file is
// readable by the server's user only.
Value to_value(const SandboxInfo& info, const store::Template& made_from,
               const std::string& server) {
  Value record;
  record.set("format", kRecordFormat);
  record.set("version", 1);
  write_fields(kInfoFields, info, record);
  record.set("policy", policy::to_value(info.policy, policy::Secrets::kept));
  record.set("granted",
             text_list(info.policy.network.granted.value_or(std::vector<std::string>())));
  record.set("extra", info.extra);
  record.set("template", store::to_value(made_from));
  Value root;
  root.set("host_usr", made_from.root.host_usr);
  root.set("layers", paths_value(made_from.root.layers, server));
  root.set("usr_layers", paths_value(made_from.root.usr_layers, server));
  record.set("root", std::move(root));
  return record;
}

// Members that are missing get the safe value. The policy is decoded again, as if it came from a
// file.
Result<SandboxRecord> record_from(const Value& value, const std::string& server) {
  SandboxRecord record;
  SandboxInfo& info = record.info;
  info.has_memory = info.public_traffic = false;  // where nothing is said
  TRY(read_record(kInfoFields, value, info, kWhat));
  if (!is_id(info.id)) return malformed("id");
  const Value* policy = value.find("policy");
  if (!policy) return malformed("policy");
  policy::DecodeContext context;
  context.base_directory = "/";
  context.refuse_wide_network = false;
  info.policy = TRY(policy::decode(*policy, "record", context));
  // Older records have none: nothing was granted.
  info.policy.network.granted = texts_in(value, "granted");
  if (const Value* extra = value.find("extra")) info.extra = *extra;
  const Value* made_from = value.find("template");
  const Value* root = value.find("root");
  if (!made_from || !root) return malformed("template");
  record.made_from = TRY(store::template_from(*made_from));
  record.made_from.root.host_usr = flag_in(*root, "host_usr", false);
  record.made_from.root.layers = TRY(paths_from(*root, "layers", server));
  record.made_from.root.usr_layers = TRY(paths_from(*root, "usr_layers", server));
  return record;
}

}  // namespace paddock::manager
