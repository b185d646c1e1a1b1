// E2B's side of templates: what its SDKs and its command line call.
#include <algorithm>

#include "api/e2b.h"
#include "api/server.h"
#include "api/template_routes.h"
#include "base/text.h"

namespace paddock::api::templates {

namespace {

using io::Task;
using paddock::templates::Build;

constexpr size_t kLogsPerAnswer = 100;

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

Result<paddock::templates::BuildRequest> read_request(const Value& body) {
  paddock::templates::BuildRequest request;
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
    for (const std::string& place : call.server.places())
      if (starts_with(place, "http")) return place;
  }
  bool secure = !call.server.options().certificate.empty() ||
                call.exchange.header("x-forwarded-proto") == "https";
  return cat(secure ? "https://" : "http://", host);
}

Value entry_of(const paddock::templates::BuildLog& log) {
  Value entry;
  entry.set("timestamp", e2b::time_text(log.time));
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
  value.set("createdAt", e2b::time_text(first));
  value.set("updatedAt", e2b::time_text(record.created));
  value.set("createdBy", Value());
  value.set("lastSpawnedAt", Value());
  value.set("spawnCount", 0);
  value.set("buildCount", builds);
  value.set("envdVersion", e2b::kEnvdVersion);
  return value;
}

Result<uint64_t> offset_of(Call& call) {
  std::string text = call.exchange.query("logsOffset").value_or("0");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return Error{Code::invalid, "logsOffset must be a number", ""};
  return std::stoull(text);
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

Task<void> e2b_request(Call& call) {
  std::optional<Value> body = co_await e2b::read_object(call);
  if (!body) co_return;
  Result<paddock::templates::BuildRequest> request = read_request(*body);
  Result<std::shared_ptr<Build>> build =
      request ? call.server.builder().request(call.caller, request.value())
              : Result<std::shared_ptr<Build>>(request.error());
  if (!build) {
    co_await e2b::fail(call, build.error());
    co_return;
  }
  std::map<std::string, int64_t> tags = build.value()->tags;
  if (tags.empty()) tags["default"] = 0;
  Value value;
  value.set("templateID", build.value()->family);
  value.set("buildID", build.value()->id);
  value.set("public", false);
  value.set("names", names_of(build.value()->name));
  value.set("aliases", names_of(build.value()->name));
  value.set("tags", tags_of(tags));
  (void)co_await call.exchange.answer_json(202, std::move(value));
}

Task<void> e2b_begin(Call& call) {
  Result<Value> body = co_await call.exchange.read_json(8 << 20);
  Result<paddock::templates::Recipe> recipe =
      body ? paddock::templates::parse_recipe(body.value())
           : Result<paddock::templates::Recipe>(body.error());
  Result<void> begun =
      recipe ? call.server.builder().begin(call.caller, call.parts["build"], recipe.value())
             : Result<void>(recipe.error());
  if (!begun) {
    co_await e2b::fail(call, begun.error());
    co_return;
  }
  (void)co_await call.exchange.answer_empty(202);
}

Task<void> e2b_status(Call& call) {
  Result<uint64_t> offset = offset_of(call);
  Result<std::shared_ptr<Build>> found =
      offset ? call.server.builder().find(call.caller, call.parts["build"])
             : Result<std::shared_ptr<Build>>(offset.error());
  if (!found) {
    co_await e2b::fail(call, found.error());
    co_return;
  }
  const Build& build = *found.value();
  Value::Array entries, lines;
  for (size_t i = offset.value(); i < build.logs.size() && entries.size() < kLogsPerAnswer; ++i) {
    entries.push_back(entry_of(build.logs[i]));
    lines.push_back(build.logs[i].message);
  }
  Value value;
  value.set("templateID", build.family);
  value.set("buildID", build.id);
  value.set("status", to_string(build.state));
  value.set("logs", std::move(lines));
  value.set("logEntries", std::move(entries));
  if (build.state == paddock::templates::BuildState::error) {
    Value reason;
    reason.set("message", build.reason.hint.empty()
                              ? build.reason.message
                              : cat(build.reason.message, " (", build.reason.hint, ")"));
    if (!build.failed_step.empty()) reason.set("step", build.failed_step);
    reason.set("logEntries", Value::Array{});
    value.set("reason", std::move(reason));
  }
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> e2b_files(Call& call) {
  std::string hash = call.parts["hash"];
  paddock::templates::BuildFiles& files = call.server.builder().files();
  Result<std::string> permit =
      Error{Code::invalid, "upload files: their hash is not 64 hexadecimal digits", ""};
  if (is_hash(hash)) permit = files.permit(call.caller.tenant, hash);
  if (!permit) {
    co_await e2b::fail(call, permit.error());
    co_return;
  }
  Value value;
  value.set("present", files.has(call.caller.tenant, hash));
  value.set("url", cat(origin(call), "/templates/upload/", permit.value()));
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> e2b_upload(Call& call) {
  std::string permit = call.parts["permit"];
  Result<void> taken = co_await take_upload(call, permit);
  if (!taken) {
    // All that the client shows of a failed upload.
    call.exchange.set_reason(taken.error().message);
    co_await e2b::fail(call, taken.error());
    co_return;
  }
  (void)co_await call.exchange.answer_empty(200);
}

Task<void> e2b_alias(Call& call) {
  (void)co_await call.manager.base_ready();
  Result<store::Template> found =
      call.manager.templates().find(call.caller.tenant, call.parts["alias"]);
  std::string family = found ? found.value().family : "";
  bool is_public = found && found.value().tenant.empty();
  // A name whose builds all have other tags exists too.
  if (!found)
    for (const store::Template& record : call.manager.templates().list(call.caller.tenant))
      if (!record.name.empty() && record.name == call.parts["alias"]) family = record.family;
  if (family.empty()) {
    co_await e2b::fail(call, found.error());
    co_return;
  }
  Value value;
  value.set("templateID", family);
  value.set("public", is_public);
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> e2b_list(Call& call) {
  (void)co_await call.manager.base_ready();
  Value::Array all;
  std::set<std::string> families;  // the newest of each comes first
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.kind == store::TemplateKind::snapshot || !families.insert(record.family).second)
      continue;
    all.push_back(listed(call, record));
  }
  Value value(std::move(all));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> e2b_look(Call& call) {
  (void)co_await call.manager.base_ready();
  Result<store::Template> found =
      call.manager.templates().find(call.caller.tenant, call.parts["template"]);
  if (!found) {
    co_await e2b::fail(call, found.error());
    co_return;
  }
  Value::Array builds;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.family != found.value().family) continue;
    Value build;
    build.set("buildID", record.id);
    build.set("status", "ready");
    build.set("createdAt", e2b::time_text(record.created));
    build.set("updatedAt", e2b::time_text(record.created));
    build.set("finishedAt", e2b::time_text(record.created));
    set_size(call, record, build);
    build.set("envdVersion", e2b::kEnvdVersion);
    builds.push_back(std::move(build));
  }
  Value value = listed(call, found.value());
  value.set("builds", std::move(builds));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> e2b_remove(Call& call) {
  Result<void> removed = co_await remove_template(call);
  if (!removed) {
    co_await e2b::fail(call, removed.error());
    co_return;
  }
  co_await e2b::answer_done(call);
}

Task<void> e2b_tag(Call& call) {
  std::optional<Value> body = co_await e2b::read_object(call);
  if (!body) co_return;
  const Value *target = body->find("target"), *tags = body->find("tags");
  std::set<std::string> wanted;
  if (tags && tags->as_array())
    for (const Value& tag : *tags->as_array())
      wanted.insert(tag.as_string() ? *tag.as_string() : "");
  Result<store::Template> tagged =
      Error{Code::invalid, "assign tags: 'target' and 'tags' are needed", ""};
  if (target && target->as_string() && !wanted.empty())
    tagged = co_await call.manager.tag_template(call.caller, *target->as_string(), wanted);
  if (!tagged) {
    co_await e2b::fail(call, tagged.error());
    co_return;
  }
  Value value;
  value.set("buildID", tagged.value().id);
  value.set("tags", text_list({wanted.begin(), wanted.end()}));
  (void)co_await call.exchange.answer_json(201, std::move(value));
}

Task<void> e2b_untag(Call& call) {
  std::optional<Value> body = co_await e2b::read_object(call);
  if (!body) co_return;
  const Value *name = body->find("name"), *tags = body->find("tags");
  std::set<std::string> wanted;
  if (tags && tags->as_array())
    for (const Value& tag : *tags->as_array())
      wanted.insert(tag.as_string() ? *tag.as_string() : "");
  Result<void> done = Error{Code::invalid, "remove tags: 'name' and 'tags' are needed", ""};
  if (name && name->as_string() && !wanted.empty())
    done = co_await call.manager.untag_template(call.caller, *name->as_string(), wanted);
  if (!done) {
    co_await e2b::fail(call, done.error());
    co_return;
  }
  co_await e2b::answer_done(call);
}

Task<void> e2b_tags(Call& call) {
  std::string name = call.parts["template"];
  Value::Array tags;
  bool known = false;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant)) {
    if (record.family != name && record.id != name && (record.name.empty() || record.name != name))
      continue;
    known = true;
    for (const auto& [tag, since] : record.tags) {
      Value value;
      value.set("tag", tag);
      value.set("buildID", record.id);
      value.set("createdAt", e2b::time_text(since));
      tags.push_back(std::move(value));
    }
  }
  if (!known) {
    Error unknown{Code::not_found,
                  cat("find template '", printable(name), "': there is none of that name"), ""};
    co_await e2b::fail(call, unknown);
    co_return;
  }
  Value value(std::move(tags));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

}  // namespace paddock::api::templates
