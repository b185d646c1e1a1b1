#include "manager/sandbox_record.h"

#include "base/text.h"
#include "manager/checks.h"
#include "policy/decode.h"
#include "policy/explain.h"

namespace paddock::manager {

namespace {

using Texts = std::map<std::string, std::string>;

// Every member that is a plain text, number or truth stands in one of these tables once, for both
// directions.
struct TextMember {
  const char* key;
  std::string SandboxInfo::*place;
};
constexpr TextMember kTexts[] = {
    {"id", &SandboxInfo::id},
    {"tenant", &SandboxInfo::tenant},
    {"name", &SandboxInfo::name},
    {"template_id", &SandboxInfo::template_id},
    {"template_alias", &SandboxInfo::template_alias},
    {"access_token", &SandboxInfo::access_token},
    {"traffic_token", &SandboxInfo::traffic_token},
    {"mask_request_host", &SandboxInfo::mask_request_host},
    {"boot_id", &SandboxInfo::boot_id},
};
// As those, and not in every record: older servers wrote none.
constexpr TextMember kLaterTexts[] = {
    {"agent", &SandboxInfo::agent}, {"trace", &SandboxInfo::trace}, {"span", &SandboxInfo::span}};
struct TimeMember {
  const char* key;
  int64_t SandboxInfo::*place;
};
constexpr TimeMember kTimes[] = {
    {"created", &SandboxInfo::created},
    {"started", &SandboxInfo::started},
    {"ends", &SandboxInfo::ends},
    {"timeout_ms", &SandboxInfo::timeout_ms},
    {"idle_timeout_ms", &SandboxInfo::idle_timeout_ms},
};
struct SizeMember {
  const char* key;
  uint64_t SandboxInfo::*place;
};
constexpr SizeMember kSizes[] = {{"memory_bytes", &SandboxInfo::memory_bytes},
                                 {"cpu_millicores", &SandboxInfo::cpu_millicores},
                                 {"disk_bytes", &SandboxInfo::disk_bytes}};
struct FlagMember {
  const char* key;
  bool Lifecycle::*place;
};
constexpr FlagMember kFlags[] = {{"pause_on_timeout", &Lifecycle::pause_on_timeout},
                                 {"pause_keeps_memory", &Lifecycle::pause_keeps_memory},
                                 {"auto_resume", &Lifecycle::auto_resume}};

Error malformed(const char* key) {
  return Error{Code::invalid, cat("read a sandbox's record: '", key, "' is not what it should be"),
               ""};
}

Result<Texts> texts_from(const Value& record, const char* key) {
  Texts texts;
  const Value* table = record.find(key);
  if (!table || !table->as_object()) return malformed(key);
  for (const auto& [name, value] : *table->as_object()) {
    if (!value.as_string()) return malformed(key);
    texts[name] = *value.as_string();
  }
  return texts;
}

Result<SandboxState> state_from(const Value& record) {
  const Value* value = record.find("state");
  if (!value || !value->as_string()) return malformed("state");
  for (SandboxState state : {SandboxState::starting, SandboxState::running, SandboxState::pausing,
                             SandboxState::paused, SandboxState::resuming, SandboxState::ending})
    if (*value->as_string() == to_string(state)) return state;
  return malformed("state");
}

// Layers are named relative to the server's directory, so that the whole of it may be moved.
Value paths_value(const std::vector<std::string>& paths, const std::string& server) {
  Value::Array list;
  for (const std::string& path : paths)
    list.push_back(starts_with(path, server + "/") ? path.substr(server.size() + 1) : path);
  return list;
}

Result<std::vector<std::string>> paths_from(const Value& record, const char* key,
                                            const std::string& server) {
  std::vector<std::string> paths;
  const Value* list = record.find(key);
  if (!list || !list->as_array()) return malformed(key);
  for (const Value& value : *list->as_array()) {
    if (!value.as_string() || value.as_string()->empty()) return malformed(key);
    const std::string& path = *value.as_string();
    paths.push_back(path[0] == '/' ? path : cat(server, "/", path));
  }
  return paths;
}

Value volumes_value(const std::vector<VolumeMount>& volumes) {
  Value::Array list;
  for (const VolumeMount& mount : volumes) {
    Value value;
    value.set("name", mount.name);
    value.set("path", mount.path);
    value.set("read_only", mount.read_only);
    list.push_back(std::move(value));
  }
  return list;
}

Result<std::vector<VolumeMount>> volumes_from(const Value& record) {
  std::vector<VolumeMount> volumes;
  const Value* list = record.find("volumes");
  if (!list || !list->as_array()) return malformed("volumes");
  for (const Value& value : *list->as_array()) {
    const Value *name = value.find("name"), *path = value.find("path");
    if (!name || !name->as_string() || !path || !path->as_string()) return malformed("volumes");
    volumes.push_back({*name->as_string(), *path->as_string(), flag_in(value, "read_only", true)});
  }
  return volumes;
}

}  // namespace

Value to_value(const SandboxInfo& info, const store::Template& made_from,
               const std::string& server) {
  Value record;
  record.set("format", kRecordFormat);
  record.set("version", 1);
  record.set("state", to_string(info.state));
  record.set("has_memory", info.has_memory);
  for (const TextMember& member : kTexts) record.set(member.key, info.*member.place);
  for (const TextMember& member : kLaterTexts) record.set(member.key, info.*member.place);
  for (const TimeMember& member : kTimes) record.set(member.key, info.*member.place);
  for (const SizeMember& member : kSizes) record.set(member.key, info.*member.place);
  record.set("public_traffic", info.public_traffic);
  record.set("hidden", info.hidden);
  Value lifecycle;
  for (const FlagMember& member : kFlags) lifecycle.set(member.key, info.lifecycle.*member.place);
  record.set("lifecycle", std::move(lifecycle));
  record.set("env", text_table(info.env));
  record.set("secrets", text_table(info.secrets));
  record.set("metadata", text_table(info.metadata));
  record.set("volumes", volumes_value(info.volumes));
  record.set("notes", text_list(info.notes));
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

Result<SandboxRecord> record_from(const Value& value, const std::string& server) {
  SandboxRecord record;
  SandboxInfo& info = record.info;
  info.state = TRY(state_from(value));
  info.has_memory = flag_in(value, "has_memory", false);
  for (const TextMember& member : kTexts) {
    const Value* text = value.find(member.key);
    if (!text || !text->as_string()) return malformed(member.key);
    info.*member.place = *text->as_string();
  }
  if (!is_id(info.id)) return malformed("id");
  for (const TextMember& member : kLaterTexts)
    if (const Value* text = value.find(member.key); text && text->as_string())
      info.*member.place = *text->as_string();
  for (const TimeMember& member : kTimes) {
    const Value* number = value.find(member.key);
    if (!number || !number->as_int()) return malformed(member.key);
    info.*member.place = *number->as_int();
  }
  for (const SizeMember& member : kSizes) {
    const Value* number = value.find(member.key);
    if (!number || !number->as_int() || *number->as_int() < 0) return malformed(member.key);
    info.*member.place = static_cast<uint64_t>(*number->as_int());
  }
  info.public_traffic = flag_in(value, "public_traffic", false);
  info.hidden = flag_in(value, "hidden", false);
  if (const Value* lifecycle = value.find("lifecycle"))
    for (const FlagMember& member : kFlags)
      info.lifecycle.*member.place = flag_in(*lifecycle, member.key, info.lifecycle.*member.place);
  info.env = TRY(texts_from(value, "env"));
  // Records of before have none.
  if (value.find("secrets")) info.secrets = TRY(texts_from(value, "secrets"));
  info.metadata = TRY(texts_from(value, "metadata"));
  info.volumes = TRY(volumes_from(value));
  if (const Value* notes = value.find("notes"); notes && notes->as_array())
    for (const Value& note : *notes->as_array())
      if (note.as_string()) info.notes.push_back(*note.as_string());
  const Value* policy = value.find("policy");
  if (!policy) return malformed("policy");
  policy::DecodeContext context;
  context.base_directory = "/";
  context.refuse_wide_network = false;
  info.policy = TRY(policy::decode(*policy, "record", context));
  // Records of before have none: nothing was granted.
  std::vector<std::string>& granted = info.policy.network.granted.emplace();
  if (const Value* list = value.find("granted"); list && list->as_array())
    for (const Value& entry : *list->as_array())
      if (entry.as_string()) granted.push_back(*entry.as_string());
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
