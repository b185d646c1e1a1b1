// E2B's side of templates: what its SDKs and its command line call.
#include <algorithm>

#include "api/e2b/control.h"
#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/templates.h"
#include "base/text.h"
#include "base/units.h"

namespace paddock::api::e2b {

namespace {

using io::Task;
using templates::Build;

constexpr size_t kLogsPerAnswer = 100;

// A list of at most one name: families have one here.
Value names_of(const std::string& name) {
  Value::Array names;
  if (!name.empty()) names.push_back(name);
  return names;
}

Value tags_of(const std::map<std::string, int64_t>& tags) {
  Value::Array names;
  for (const auto& [tag, since] : tags) names.push_back(tag);
  return names;
}

// Older clients call the name "alias".
Result<templates::BuildRequest> read_request(const Value& body) {
  templates::BuildRequest request;
  for (const char* key : {"name", "alias"}) {
    const Value* name = body.find(key);
    if (name && name->as_string() && request.name.empty()) request.name = *name->as_string();
  }
  if (request.name.empty()) return Error{Code::invalid, "request a build: 'name' is missing", ""};
  if (const Value* tags = body.find("tags"); tags && tags->as_array()) {
    for (const Value& tag : *tags->as_array()) {
      if (!tag.as_string())
        return Error{Code::invalid, "request a build: a tag is not a string", ""};
      request.tags.insert(*tag.as_string());
    }
  }
  const Value *cpu = body.find("cpuCount"), *memory = body.find("memoryMB");
  if (cpu && cpu->as_int()) {
    if (*cpu->as_int() < 1 || *cpu->as_int() > 1024)
      return Error{Code::invalid, "request a build: cpuCount must be from 1 to 1024", ""};
    request.cpu_millicores = static_cast<uint64_t>(*cpu->as_int()) * 1000;
  }
  if (memory && memory->as_int()) {
    if (*memory->as_int() < 16 || *memory->as_int() > (1 << 24))
      return Error{Code::invalid, "request a build: memoryMB must be from 16 to 16777216", ""};
    request.memory_bytes = static_cast<uint64_t>(*memory->as_int()) << 20;
  }
  // As E2B's sandboxes: the Internet, as far as the operator's and the tenant's policies let them.
  request.policy.network.allow = std::vector<std::string>{"*"};
  request.policy.danger.insert("network.wide");
  return request;
}

// Where the client can reach us: as it did just now.
std::string origin(Call& call) {
  std::string host = call.exchange.header("host");
  bool plain = host.find_first_not_of(
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_") ==
               std::string::npos;
  if (host.empty() || !plain || call.exchange.peer().local) {
    for (const std::string& place : call.server.addresses())
      if (starts_with(place, "http")) return place;
  }
  bool secure = !call.server.options().certificate.empty() ||
                call.exchange.header("x-forwarded-proto") == "https";
  return cat(secure ? "https://" : "http://", host);
}

// An entry of a build's log.
Value entry_of(const templates::BuildLog& log) {
  Value entry;
  entry.set("timestamp", time_text(log.time));
  entry.set("level", log.level);
  entry.set("message", log.message);
  if (!log.step.empty()) entry.set("step", log.step);
  return entry;
}

// What its sandboxes get: what it asked for, or else what the policy gives.
void set_size(const Call& call, const store::Template& record, Value& value) {
  manager::TemplateSize size = call.manager.template_size(call.caller.tenant, record);
  value.set("cpuCount", std::max<uint64_t>(1, (size.cpu_millicores + 999) / 1000));
  value.set("memoryMB", size.memory_bytes >> 20);
}

// A template as lists and details show it. A family of builds counts as one.
Value listed(const Call& call, const store::Template& record) {
  std::vector<store::Template> all = call.manager.templates().list(call.caller.tenant);
  int64_t first = record.created, builds = 0;
  for (const store::Template& other : all) {
    if (other.family != record.family) continue;
    first = std::min(first, other.created);
    ++builds;
  }
  Value value;
  value.set("templateID", record.family);
  value.set("buildID", record.id);
  value.set("buildStatus", "ready");
  value.set("public", record.tenant.empty());
  value.set("aliases", names_of(record.name));
  value.set("names", names_of(record.name));
  value.set("tags", tags_of(record.tags));
  set_size(call, record, value);
  value.set("diskSizeMB", record.bytes >> 20);
  value.set("createdAt", time_text(first));
  value.set("updatedAt", time_text(record.created));
  value.set("createdBy", Value());
  value.set("lastSpawnedAt", Value());
  value.set("spawnCount", 0);
  value.set("buildCount", builds);
  value.set("envdVersion", kEnvdVersion);
  return value;
}

// "tags" of a request. What is not a string is an empty tag, which nobody accepts.
std::set<std::string> tags_in(const Value& body) {
  std::set<std::string> wanted;
  const Value* tags = body.find("tags");
  if (tags && tags->as_array())
    for (const Value& tag : *tags->as_array())
      wanted.insert(tag.as_string() ? *tag.as_string() : "");
  return wanted;
}

// Reserves a build. It begins once its recipe comes.
Task<Result<Reply>> request_build(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  CO_TRY(templates::BuildRequest request, read_request(body));
  CO_TRY(std::shared_ptr<Build> build, call.server.builder().request(call.caller, request));
  std::map<std::string, int64_t> tags = build->tags;
  if (tags.empty()) tags["default"] = 0;
  co_return Reply::json(202, Value::Object{{"templateID", build->family},
                                           {"buildID", build->id},
                                           {"public", false},
                                           {"names", names_of(build->name)},
                                           {"aliases", names_of(build->name)},
                                           {"tags", tags_of(tags)}});
}

// The recipe of a build that was reserved before. It begins at once.
Task<Result<Reply>> begin_build(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json(8 << 20));
  CO_TRY(templates::Recipe recipe, templates::parse_recipe(body));
  CO_TRY_VOID(call.server.builder().begin(call.caller, call.part("build"), recipe));
  co_return Reply::empty(202);
}

// How a build stands, with the next entries of its log. Clients ask again and again.
Task<Result<Reply>> build_status(Call& call) {
  // How many entries of the log the client has already.
  std::optional<int64_t> offset = parse_digits(call.exchange.query("logsOffset").value_or("0"), 9);
  if (!offset) co_return Error{Code::invalid, "logsOffset must be a number"};
  CO_TRY(std::shared_ptr<Build> build, call.server.builder().find(call.caller, call.part("build")));
  Value::Array entries, lines;
  for (size_t i = static_cast<size_t>(*offset);
       i < build->logs.size() && entries.size() < kLogsPerAnswer; ++i) {
    entries.push_back(entry_of(build->logs[i]));
    lines.push_back(build->logs[i].message);
  }
  Value value = Value::Object{{"templateID", build->family},
                              {"buildID", build->id},
                              {"status", to_string(build->state)},
                              {"logs", std::move(lines)},
                              {"logEntries", std::move(entries)}};
  if (build->state == templates::BuildState::error) {
    const Error& why = build->reason;
    Value reason = Value::Object{
        {"message", why.hint.empty() ? why.message : cat(why.message, " (", why.hint, ")")}};
    if (!build->failed_step.empty()) reason.set("step", build->failed_step);
    reason.set("logEntries", Value::Array{});
    value.set("reason", std::move(reason));
  }
  co_return Reply::json(200, value);
}

// Tells whether files for a COPY step are there, and where to upload them.
Task<Result<Reply>> find_files(Call& call) {
  CO_TRY(std::string permit, permit_upload(call));
  bool present = call.server.builder().files().has(call.caller.tenant, call.part("hash"));
  co_return Reply::json(201,
                        Value::Object{{"present", present},
                                      {"url", cat(origin(call), "/templates/upload/", permit)}});
}

// Takes files for a COPY step. The permit in the path is all that the client shows.
Task<Result<Reply>> upload_archive(Call& call) {
  std::string permit = call.part("permit");
  Result<void> taken = co_await take_upload(call, permit);
  if (taken) co_return Reply::empty(200);
  call.exchange.set_reason(taken.error().message);  // all that the client shows of it
  co_return taken.error();
}

// Whether a template of that name exists, and whether it is everyone's.
Task<Result<Reply>> find_alias(Call& call) {
  (void)co_await call.manager.base_ready();
  std::string alias = call.part("alias");
  Result<store::Template> found = call.manager.templates().find(call.caller.tenant, alias);
  std::string family = found ? found.value().family : "";
  bool is_public = found && found.value().tenant.empty();
  // A name whose builds all have other tags exists too.
  if (!found)
    for (const store::Template& record : call.manager.templates().list(call.caller.tenant))
      if (!record.name.empty() && record.name == alias) family = record.family;
  if (family.empty()) co_return found.error();
  co_return Reply::json(200, Value::Object{{"templateID", family}, {"public", is_public}});
}

// One entry for each family of builds. Snapshots have a list of their own.
Task<Result<Reply>> list_templates(Call& call) {
  (void)co_await call.manager.base_ready();
  Value::Array all;
  std::set<std::string> families;  // the newest of each comes first
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.kind == store::TemplateKind::snapshot || !families.insert(record.family).second)
      continue;
    all.push_back(listed(call, record));
  }
  co_return Reply::json(200, std::move(all));
}

// A template with all builds of its family.
Task<Result<Reply>> get_template(Call& call) {
  (void)co_await call.manager.base_ready();
  CO_TRY(store::Template found,
         call.manager.templates().find(call.caller.tenant, call.part("template")));
  Value::Array builds;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.family != found.family) continue;
    std::string made = time_text(record.created);
    Value build = Value::Object{{"buildID", record.id},
                                {"status", "ready"},
                                {"createdAt", made},
                                {"updatedAt", made},
                                {"finishedAt", made}};
    set_size(call, record, build);
    build.set("envdVersion", kEnvdVersion);
    builds.push_back(std::move(build));
  }
  Value value = listed(call, found);
  value.set("builds", std::move(builds));
  co_return Reply::json(200, value);
}

// Lets tags mean the build that `target` names. Each tag means one build of a family.
Task<Result<Reply>> assign_tags(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  std::string target = text_in(body, "target");
  std::set<std::string> wanted = tags_in(body);
  const Value* named = body.find("target");
  if (!named || !named->as_string() || wanted.empty())
    co_return Error{Code::invalid, "assign tags: 'target' and 'tags' are needed"};
  CO_TRY(store::Template tagged, co_await call.manager.tag_template(call.caller, target, wanted));
  Value tags = text_list({wanted.begin(), wanted.end()});
  co_return Reply::json(201, Value::Object{{"buildID", tagged.id}, {"tags", std::move(tags)}});
}

// Takes tags away from a family.
Task<Result<Reply>> remove_tags(Call& call) {
  CO_TRY(Value body, co_await read_object(call));
  std::string name = text_in(body, "name");
  std::set<std::string> wanted = tags_in(body);
  const Value* named = body.find("name");
  if (!named || !named->as_string() || wanted.empty())
    co_return Error{Code::invalid, "remove tags: 'name' and 'tags' are needed"};
  CO_TRY_VOID(co_await call.manager.untag_template(call.caller, name, wanted));
  co_return Reply::empty(204);
}

// The tags of a family, and which build each means.
Task<Result<Reply>> list_tags(Call& call) {
  std::string name = call.part("template");
  Value::Array tags;
  bool known = false;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.family != name && record.id != name && (record.name.empty() || record.name != name))
      continue;
    known = true;
    for (const auto& [tag, since] : record.tags)
      tags.push_back(
          Value::Object{{"tag", tag}, {"buildID", record.id}, {"createdAt", time_text(since)}});
  }
  if (!known)
    co_return Error{Code::not_found,
                    cat("find template '", printable(name), "': no such template")};
  co_return Reply::json(200, std::move(tags));
}

}  // namespace

std::vector<Route> template_routes() {
  return {
      {"POST", "/v3/templates", "templates", request_build},
      {"POST", "/v2/templates", "templates", request_build},
      {"POST", "/v2/templates/{template}/builds/{build}", "templates", begin_build},
      {"GET", "/templates/{template}/builds/{build}/status", "read", build_status},
      {"GET", "/templates/{template}/files/{hash}", "templates", find_files},
      {"PUT", "/templates/upload/{permit}", "", upload_archive},
      {"GET", "/templates/aliases/{alias}", "read", find_alias},
      {"GET", "/templates", "read", list_templates},
      {"GET", "/templates/{template}", "read", get_template},
      {"DELETE", "/templates/{template}", "templates", remove_template},
      {"POST", "/templates/tags", "templates", assign_tags},
      {"DELETE", "/templates/tags", "templates", remove_tags},
      {"GET", "/templates/{template}/tags", "read", list_tags},
  };
}

}  // namespace paddock::api::e2b
