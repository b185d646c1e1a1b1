// Native API: templates; and the table of E2B's routes for them.
#include "api/template_routes.h"

#include "api/all_routes.h"
#include "api/create_request.h"
#include "api/server.h"
#include "base/fields.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using paddock::templates::Build;

Task<void> list(Call& call) {
  (void)co_await call.manager.base_ready();
  Value::Array all;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant))
    if (!record.tags.empty()) all.push_back(describe(record));
  Value value;
  value.set("templates", std::move(all));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> look(Call& call) {
  (void)co_await call.manager.base_ready();
  Result<store::Template> found =
      call.manager.templates().find(call.caller.tenant, call.parts["template"]);
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value value = describe(found.value());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> remove(Call& call) {
  Result<void> removed = co_await remove_template(call);
  co_await answer_done(call, std::move(removed));
}

bool is_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Task<void> files(Call& call) {
  std::string hash = call.parts["hash"];
  if (!is_hash(hash)) {
    Error error{Code::invalid, "look for files: their hash is not 64 hexadecimal digits", ""};
    co_await answer_error(call, error);
    co_return;
  }
  Value value;
  value.set("present", call.server.builder().files().has(call.caller.tenant, hash));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

Task<void> upload(Call& call) {
  std::string hash = call.parts["hash"];
  Result<std::string> permit =
      Error{Code::invalid, "upload files: their hash is not 64 hexadecimal digits", ""};
  if (is_hash(hash)) permit = call.server.builder().files().permit(call.caller.tenant, hash);
  Result<void> taken;
  if (!permit) {
    taken = permit.error();
  } else {
    std::string shown = permit.value();
    taken = co_await take_upload(call, shown);
  }
  co_await answer_done(call, std::move(taken));
}

struct Asked {
  paddock::templates::BuildRequest request;
  paddock::templates::Recipe recipe;
};

Result<Asked> read_build(const Value& body) {
  Asked asked;
  Fields fields(body);
  asked.request.name = fields.text("name").value_or("");
  if (asked.request.name.empty()) fields.wrong("name", "is missing");
  for (const std::string& tag : fields.texts("tags").value_or(std::vector<std::string>()))
    asked.request.tags.insert(tag);
  asked.request.cpu_millicores =
      static_cast<uint64_t>(fields.number("cpu_millicores", 0, 1 << 20).value_or(0));
  asked.request.memory_bytes = static_cast<uint64_t>(fields.number("memory_bytes", 0).value_or(0));
  const Value *policy = fields.any("policy"), *limits = fields.any("limits"),
              *allow_net = fields.any("allow_net");
  for (const char* key :
       {"from_template", "from_image", "steps", "start_command", "ready_command", "force"})
    (void)fields.any(key);
  TRY(fields.done());
  asked.request.policy = TRY(read_policy(policy, limits, allow_net));
  asked.recipe = TRY(paddock::templates::parse_recipe(body));
  return asked;
}

std::string line_of(Value value) { return to_json(value) + "\n"; }

// Told as it goes: a line for each entry of the log, and one for how it ended. Who goes away
// cancels it.
Task<void> build(Call& call) {
  Result<Value> body = co_await call.exchange.read_json(8 << 20);
  Result<Asked> asked = body ? read_build(body.value()) : Result<Asked>(body.error());
  Result<std::shared_ptr<Build>> requested = Error{};
  if (asked)
    requested = call.server.builder().request(call.caller, asked.value().request);
  else
    requested = asked.error();
  Result<void> begun = requested ? call.server.builder().begin(call.caller, requested.value()->id,
                                                               asked.value().recipe)
                                 : Result<void>(requested.error());
  if (!begun) {
    co_await answer_error(call, begun.error());
    co_return;
  }
  std::shared_ptr<Build> build = requested.value();
  paddock::templates::Builder& builder = call.server.builder();
  call.exchange.on_client_gone([&builder, build] { builder.cancel(build); });

  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool there = co_await call.exchange.begin(200, headers);
  std::string lines;
  for (size_t told = 0; there;) {
    for (; told < build->logs.size(); ++told) lines += line_of(describe_log(build->logs[told]));
    if (build->state == paddock::templates::BuildState::ready ||
        build->state == paddock::templates::BuildState::error)
      break;
    if (lines.empty()) {
      co_await call.manager.loop().sleep(50);
      continue;
    }
    there = co_await call.exchange.write(lines);
    lines.clear();
  }
  if (!there) {
    builder.cancel(build);
    co_return;
  }
  Value last;
  Result<store::Template> made = call.manager.templates().find(call.caller.tenant, build->id);
  if (build->state == paddock::templates::BuildState::ready && made) {
    last.set("type", "end");
    last.set("template", describe(made.value()));
  } else {
    Error reason =
        build->state == paddock::templates::BuildState::ready ? made.error() : build->reason;
    Value error;
    error.set("code", to_string(reason.code));
    error.set("message", reason.message);
    error.set("hint", reason.hint);
    error.set("step", build->failed_step);
    last.set("type", "error");
    last.set("error", std::move(error));
  }
  lines += line_of(std::move(last));
  bool written = co_await call.exchange.write(lines);
  if (written) (void)co_await call.exchange.finish();
}

}  // namespace

Task<Result<void>> remove_template(Call& call) {
  std::string name = call.parts["template"];
  co_return co_await call.manager.remove_template(call.caller, name);
}

Value describe(const store::Template& record) {
  Value env{Value::Object{}};
  Value::Array tags;
  for (const auto& [name, text] : record.env) env.set(name, text);
  for (const auto& [tag, since] : record.tags) tags.push_back(tag);
  Value value;
  value.set("id", record.id);
  value.set("name", record.name);
  value.set("tags", std::move(tags));
  value.set("kind", record.kind == store::TemplateKind::snapshot ? "snapshot" : "template");
  value.set("everyones", record.tenant.empty());
  value.set("created_ms", record.created);
  value.set("layers", static_cast<uint64_t>(record.layers.size()));
  value.set("user", record.user);
  value.set("cwd", record.cwd);
  value.set("env", std::move(env));
  value.set("start_command", record.start_command);
  value.set("ready_command", record.ready_command);
  value.set("cpu_millicores", record.cpu_millicores);
  value.set("memory_bytes", record.memory_bytes);
  value.set("parent", record.parent);
  return value;
}

Value describe_log(const paddock::templates::BuildLog& entry) {
  Value value;
  value.set("type", "log");
  value.set("time_ms", entry.time);
  value.set("level", entry.level);
  value.set("step", entry.step);
  value.set("message", entry.message);
  return value;
}

io::Task<Result<void>> take_upload(Call& call, std::string permit) {
  paddock::templates::BuildFiles& files = call.server.builder().files();
  Result<std::unique_ptr<paddock::templates::BuildFiles::Upload>> begun = files.begin(permit);
  if (!begun) co_return begun.error();
  std::unique_ptr<paddock::templates::BuildFiles::Upload> upload = std::move(begun).value();
  call.caller.tenant = upload->tenant;  // a permit is all that E2B's clients show here
  call.exchange.admit(cat("tenant ", upload->tenant));
  Value data = Value::Object{{"files", upload->hash}};
  Result<void> recorded = co_await record_act(call, "template.upload", data);
  if (!recorded) co_return recorded.error();
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece) co_return piece.error();
    if (piece.value().empty()) break;
    Result<void> written = files.charge(*upload, piece.value().size());
    std::function<void()> write = [&] { written = write_all(upload->file.get(), piece.value()); };
    if (written) co_await call.manager.worker().run(write);
    if (!written) co_return written.error();
  }
  co_return files.finish(*upload);
}

const std::vector<Route>& template_routes() {
  using namespace templates;
  static const std::vector<Route> routes = {
      {"GET", "/v1/templates", "read", list, "list templates and snapshots"},
      {"POST", "/v1/templates/build", "templates", build,
       "build a template; answers with lines of JSON as it goes"},
      {"GET", "/v1/templates/files/{hash}", "templates", files,
       "whether files for a COPY step are there"},
      {"PUT", "/v1/templates/files/{hash}", "templates", upload,
       "upload files for a COPY step, as a tar"},
      {"GET", "/v1/templates/{template}", "read", look, "one template, by id, name or name:tag"},
      {"DELETE", "/v1/templates/{template}", "templates", remove, "remove a template or snapshot"},

      {"POST", "/v3/templates", "templates", e2b_request, nullptr},
      {"POST", "/v2/templates", "templates", e2b_request, nullptr},
      {"POST", "/v2/templates/{template}/builds/{build}", "templates", e2b_begin, nullptr},
      {"GET", "/templates/{template}/builds/{build}/status", "read", e2b_status, nullptr},
      {"GET", "/templates/{template}/files/{hash}", "templates", e2b_files, nullptr},
      {"PUT", "/templates/upload/{permit}", "", e2b_upload, nullptr},
      {"GET", "/templates/aliases/{alias}", "read", e2b_alias, nullptr},
      {"GET", "/templates", "read", e2b_list, nullptr},
      {"GET", "/templates/{template}", "read", e2b_look, nullptr},
      {"DELETE", "/templates/{template}", "templates", e2b_remove, nullptr},
      {"POST", "/templates/tags", "templates", e2b_tag, nullptr},
      {"DELETE", "/templates/tags", "templates", e2b_untag, nullptr},
      {"GET", "/templates/{template}/tags", "read", e2b_tags, nullptr},
  };
  return routes;
}

}  // namespace paddock::api
