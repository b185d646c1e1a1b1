// Native API: templates.
#include "api/native/templates.h"

#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/create_request.h"
#include "base/record.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using templates::Build;

Task<Result<Reply>> list(Call& call) {
  (void)co_await call.manager.base_ready();
  Value::Array all;
  for (const store::Template& record : call.manager.templates().list(call.caller.tenant))
    if (!record.tags.empty()) all.push_back(describe(record));
  co_return Reply::json(200, Value::Object{{"templates", std::move(all)}});
}

Task<Result<Reply>> look(Call& call) {
  (void)co_await call.manager.base_ready();
  CO_TRY(store::Template found,
         call.manager.templates().find(call.caller.tenant, call.part("template")));
  co_return Reply::json(200, describe(found));
}

Task<Result<Reply>> files(Call& call) {
  std::string hash = call.part("hash");
  if (!is_files_hash(hash))
    co_return Error{Code::invalid, "look for files: their hash is not 64 hexadecimal digits"};
  bool present = call.server.builder().files().has(call.caller.tenant, hash);
  co_return Reply::json(200, Value::Object{{"present", present}});
}

// The permit that E2B's clients get first is made and used at once here.
Task<Result<Reply>> upload(Call& call) {
  CO_TRY(std::string permit, permit_upload(call));
  CO_TRY_VOID(co_await take_upload(call, permit));
  co_return Reply::empty(204);
}

// A build and what is to be done in it.
struct Asked {
  templates::BuildRequest request;
  templates::Recipe recipe;
};

// The body of POST /v1/templates/build: a request and its recipe.
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
  asked.recipe = TRY(templates::parse_recipe(body));
  return asked;
}

std::string line_of(const Value& value) { return to_json(value) + "\n"; }

// The last line of a build: the template, or why there is none.
Value end_line(Call& call, const Build& build) {
  Result<store::Template> made = call.manager.templates().find(call.caller.tenant, build.id);
  if (build.state == templates::BuildState::ready && made)
    return Value::Object{{"type", "end"}, {"template", describe(made.value())}};
  Error reason = build.state == templates::BuildState::ready ? made.error() : build.reason;
  Value error = Value::Object{{"code", to_string(reason.code)},
                              {"message", reason.message},
                              {"hint", reason.hint},
                              {"step", build.failed_step}};
  return Value::Object{{"type", "error"}, {"error", std::move(error)}};
}

// Told as it goes: a line for each entry of the log, and one for how it ended. A client that goes
// away cancels it.
Task<Result<Reply>> build(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json(8 << 20));
  CO_TRY(Asked asked, read_build(body));
  templates::Builder& builder = call.server.builder();
  CO_TRY(std::shared_ptr<Build> build, builder.request(call.caller, asked.request));
  CO_TRY_VOID(builder.begin(call.caller, build->id, asked.recipe));
  call.exchange.on_client_gone([&builder, build] { builder.cancel(build); });

  Headers headers{{"Content-Type", "application/x-ndjson"}};
  bool there = co_await call.exchange.begin(200, headers);
  std::string lines;
  for (size_t told = 0; there;) {
    for (; told < build->logs.size(); ++told) lines += line_of(describe_log(build->logs[told]));
    if (build->state == templates::BuildState::ready ||
        build->state == templates::BuildState::error)
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
    co_return Reply::sent();
  }
  lines += line_of(end_line(call, *build));
  bool written = co_await call.exchange.write(lines);
  if (written) (void)co_await call.exchange.finish();
  co_return Reply::sent();
}

}  // namespace

Task<Result<Reply>> remove_template(Call& call) {
  std::string name = call.part("template");
  CO_TRY_VOID(co_await call.manager.remove_template(call.caller, name));
  co_return Reply::empty(204);
}

bool is_files_hash(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Result<std::string> permit_upload(Call& call) {
  std::string hash = call.part("hash");
  if (!is_files_hash(hash))
    return Error{Code::invalid, "upload files: their hash is not 64 hexadecimal digits"};
  return call.server.builder().files().permit(call.caller.tenant, hash);
}

namespace {

using paddock::field;
using store::Template;

// What is shown of a template, in the order in which it is.
constexpr auto kName = std::make_tuple(field("id", &Template::id), field("name", &Template::name));
constexpr auto kStart = std::make_tuple(
    field("user", &Template::user), field("cwd", &Template::cwd), field("env", &Template::env),
    field("start_command", &Template::start_command),
    field("ready_command", &Template::ready_command),
    field("cpu_millicores", &Template::cpu_millicores),
    field("memory_bytes", &Template::memory_bytes), field("parent", &Template::parent));
constexpr auto kLog = std::make_tuple(
    field("time_ms", &templates::BuildLog::time), field("level", &templates::BuildLog::level),
    field("step", &templates::BuildLog::step), field("message", &templates::BuildLog::message));

}  // namespace

Value describe(const Template& record) {
  Value::Array tags;
  for (const auto& [tag, since] : record.tags) tags.push_back(tag);
  Value value = write_record(kName, record);
  value.set("tags", std::move(tags));
  value.set("kind", record.kind == store::TemplateKind::snapshot ? "snapshot" : "template");
  value.set("everyones", record.tenant.empty());
  value.set("created_ms", record.created);
  value.set("layers", static_cast<uint64_t>(record.layers.size()));
  write_fields(kStart, record, value);
  return value;
}

Value describe_log(const templates::BuildLog& entry) {
  Value value = Value::Object{{"type", "log"}};
  write_fields(kLog, entry, value);
  return value;
}

io::Task<Result<void>> take_upload(Call& call, std::string permit) {
  templates::BuildFiles& files = call.server.builder().files();
  CO_TRY(std::unique_ptr<templates::BuildFiles::Upload> upload, files.begin(permit));
  call.caller.tenant = upload->tenant;  // a permit is all that E2B's clients show here
  call.exchange.admit(cat("tenant ", upload->tenant));
  Value data = Value::Object{{"files", upload->hash}};
  CO_TRY_VOID(co_await record_act(call, "template.upload", data));
  while (true) {
    CO_TRY(std::string piece, co_await call.exchange.read());
    if (piece.empty()) break;
    Result<void> written = files.charge(*upload, piece.size());
    std::function<void()> write = [&] { written = write_all(upload->file.get(), piece); };
    if (written) co_await call.manager.worker().run(write);
    CO_TRY_VOID(std::move(written));
  }
  co_return files.finish(*upload);
}

std::vector<Route> template_routes() {
  return {
      {"GET", "/v1/templates", "read", list, "list templates and snapshots", "", "", "Templates"},
      {"POST", "/v1/templates/build", "templates", build,
       "build a template; answers with lines of JSON as it goes", "", "BuildTemplate",
       "lines:BuildEvent"},
      {"GET", "/v1/templates/files/{hash}", "templates", files,
       "whether files for a COPY step are there", "", "", "FilesPresent"},
      {"PUT", "/v1/templates/files/{hash}", "templates", upload,
       "upload files for a COPY step, as a tar", "", "tar"},
      {"GET", "/v1/templates/{template}", "read", look, "one template, by id, name or name:tag", "",
       "", "Template"},
      {"DELETE", "/v1/templates/{template}", "templates", remove_template,
       "remove a template or snapshot"},
  };
}

}  // namespace paddock::api
