#include "template/steps.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "base/digest.h"
#include "base/error_table.h"
#include "base/text.h"
#include "guest/protocol.h"
#include "living/command.h"
#include "template/scripts.h"

namespace paddock::templates {

namespace {

// For the sandbox of a step.
constexpr int64_t kBuildLives = 3'600'000;
constexpr io::Milliseconds kRunTime = 3'000'000;
constexpr io::Milliseconds kScriptTime = 600'000;

constexpr char kStage[] = "/var/tmp/.paddock-copy";

// What a guest refused, as E2B's builder says it: the code first.
std::string refusal(const Error& error) { return cat(connect_code(error), ": ", error.message); }

// The words are those of E2B's builder, which its clients show.
Error failed(const std::string& what, const std::string& why) {
  return Error{Code::invalid, cat(what, ": ", why), ""};
}

// The lines of one command without its secrets, also those that go over several lines: what is held
// back is told at the end.
class CleanLines {
 public:
  CleanLines(std::shared_ptr<Build> build, std::string number)
      : build_(std::move(build)),
        number_(std::move(number)),
        streams_{redact::Stream(build_->redaction), redact::Stream(build_->redaction)} {}
  CleanLines(const CleanLines&) = delete;
  CleanLines& operator=(const CleanLines&) = delete;
  ~CleanLines() {
    for (size_t i : {0, 1}) {
      streams_[i].finish(shown_[i]);
      if (!shown_[i].empty() && shown_[i].back() != '\n') shown_[i] += '\n';
      tell(i);
    }
  }
  void add(bool is_error, const std::string& line) {
    streams_[is_error].feed(line, shown_[is_error]);
    streams_[is_error].feed("\n", shown_[is_error]);
    tell(is_error);
  }

 private:
  // Only whole lines are told.
  void tell(size_t which) {
    std::string& shown = shown_[which];
    size_t begin = 0;
    for (size_t end; (end = shown.find('\n', begin)) != std::string::npos; begin = end + 1)
      build_->log(which ? "warn" : "info", number_, shown.substr(begin, end - begin));
    shown.erase(0, begin);
  }

  std::shared_ptr<Build> build_;
  std::string number_;
  // Output and errors.
  std::array<redact::Stream, 2> streams_;
  std::array<std::string, 2> shown_;
};

// The lines are finished when the last copy of the function goes.
std::function<void(bool, const std::string&)> lines_to(std::shared_ptr<Build> build,
                                                       std::string number) {
  auto lines = std::make_shared<CleanLines>(std::move(build), std::move(number));
  return [lines](bool is_error, const std::string& line) { lines->add(is_error, line); };
}

// A script of ours, as root inside. Its last line of output is its answer.
struct ScriptEnd {
  std::string answer;
  std::string errors;
  bool ok = false;
};
io::Task<Result<ScriptEnd>> run_script(std::shared_ptr<guest::Client> guest, const char* script,
                                       std::vector<std::string> args) {
  auto end = std::make_shared<ScriptEnd>();
  living::CommandOptions options;
  options.argv = {"/bin/sh", "-c", script, "sh"};
  options.argv.insert(options.argv.end(), args.begin(), args.end());
  options.user = "root";
  options.cwd = "/";
  options.timeout = kScriptTime;
  options.on_line = [end](bool is_error, const std::string& line) {
    if (!is_error)
      end->answer = line;
    else if (end->errors.size() < 2000)
      end->errors += (end->errors.empty() ? "" : "; ") + line;
  };
  CO_TRY(living::CommandEnd ended, co_await living::run_in_guest(guest, options));
  end->ok = ended.ok();
  if (!end->ok && end->errors.empty()) end->errors = ended.text();
  co_return *end;
}

// Sends the archive to the guest, which unpacks it inside.
io::Task<Result<void>> unpack(std::shared_ptr<guest::Client> guest, Fd archive) {
  Value request = guest::to_value(guest::UnpackRequest{.path = kStage, .user = "root"});
  std::shared_ptr<guest::Channel> channel = guest->open(request);
  std::string piece(64 << 10, '\0');
  while (true) {
    ssize_t count = ::read(archive.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) co_return errno_error(errno, "read uploaded files");
    if (count == 0) break;
    std::string_view bytes(piece.data(), static_cast<size_t>(count));
    bool sent = co_await channel->send(bytes);
    if (!sent) break;  // the end below says why
  }
  channel->end_input();
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == guest::Channel::Item::Kind::failed) co_return item.error;
    if (item.kind == guest::Channel::Item::Kind::end) co_return Result<void>();
  }
}

// Each gives whether it changed files.
io::Task<Result<bool>> do_run(StepContext context, std::shared_ptr<guest::Client> guest,
                              store::Template& last, BuildStep step, std::string number) {
  living::CommandOptions options;
  options.argv = living::shell_command(step.args[0]);
  options.user = step.args.size() > 1 && !step.args[1].empty() ? step.args[1] : last.user;
  options.cwd = last.cwd;
  options.env = last.env;
  options.timeout = kRunTime;
  options.on_line = lines_to(context.build, number);
  Result<living::CommandEnd> end = co_await living::run_in_guest(guest, options);
  std::string what = cat("failed to run command '", step.args[0], "'");
  if (!end) co_return failed(what, cat("command failed: ", refusal(end.error())));
  if (!end.value().ok()) co_return failed(what, end.value().text());
  co_return true;
}

// The archive is unpacked into a stage inside the sandbox, and our own script moves the files from
// there.
io::Task<Result<bool>> do_copy(StepContext context, std::shared_ptr<guest::Client> guest,
                               store::Template& last, BuildStep step) {
  std::string what = cat("failed to copy '", step.args[0], "' to '", step.args[1], "'");
  Result<Fd> archive = context.files.read(context.build->tenant, step.files);
  if (!archive) co_return failed(what, archive.error().message);
  std::vector<std::string> none{kStage};
  Result<ScriptEnd> made = co_await run_script(guest, kMakeStage, none);
  if (!made) co_return failed(what, refusal(made.error()));
  if (!made.value().ok) co_return failed(what, made.value().errors);
  Fd file = std::move(archive).value();
  Result<void> unpacked = co_await unpack(guest, std::move(file));
  if (!unpacked) co_return failed(what, refusal(unpacked.error()));
  std::string owner = step.args.size() > 2 && !step.args[2].empty() ? step.args[2] : last.user;
  std::string mode = step.args.size() > 3 ? step.args[3] : "";
  std::vector<std::string> args{kStage, step.args[0], step.args[1], owner,
                                mode,   last.user,    last.cwd};
  Result<ScriptEnd> copied = co_await run_script(guest, kCopyScript, args);
  if (!copied) co_return failed(what, refusal(copied.error()));
  if (!copied.value().ok) co_return failed(what, copied.value().errors);
  co_return true;
}

// The path is expanded first, and the script answers with the real one.
io::Task<Result<bool>> do_workdir(std::shared_ptr<guest::Client> guest, store::Template& last,
                                  BuildStep step) {
  CO_TRY(std::string path, expand_variables(step.args[0], last.env));
  std::vector<std::string> args{path, last.user, last.cwd};
  Result<ScriptEnd> end = co_await run_script(guest, kWorkdirScript, args);
  std::string what = cat("failed to create workdir '", path, "'");
  if (!end) co_return failed(what, refusal(end.error()));
  if (!end.value().ok) co_return failed(what, end.value().errors);
  bool made = starts_with(end.value().answer, "made ");
  std::string where = end.value().answer.substr(std::min<size_t>(5, end.value().answer.size()));
  if (where.empty() || where[0] != '/') co_return failed(what, "it has no path");
  last.cwd = where;
  co_return made;
}

// A user that does not exist is made.
io::Task<Result<bool>> do_user(std::shared_ptr<guest::Client> guest, store::Template& last,
                               BuildStep step) {
  CO_TRY(std::string name, expand_variables(step.args[0], last.env));
  std::vector<std::string> args{name};
  Result<ScriptEnd> end = co_await run_script(guest, kUserScript, args);
  std::string what = cat("failed to create user '", name, "'");
  if (!end) co_return failed(what, refusal(end.error()));
  if (!end.value().ok) co_return failed(what, end.value().errors);
  last.user = name;
  co_return end.value().answer == "made";
}

// The sandbox of a step is hidden from lists. A cancellation that came while it was made is noticed
// here.
io::Task<Result<std::shared_ptr<manager::Sandbox>>> start_sandbox(StepContext context,
                                                                  std::string made_from) {
  manager::CreateOptions options;
  options.yields = manager::Yields::wide_network;  // "*" is what the operator lets the steps reach
  options.template_name = made_from;
  options.policy = context.build->request.policy;
  options.metadata["paddock.build"] = context.build->id;
  options.hidden = true;
  options.timeout_ms = kBuildLives;
  manager::Caller caller = context.caller;
  Result<std::shared_ptr<manager::Sandbox>> sandbox =
      co_await context.manager.create(caller, options);
  if (!sandbox) co_return sandbox.error();
  std::string id = sandbox.value()->info().id;
  if (context.build->cancelled) {  // while it was made
    Result<void> killed = co_await context.manager.kill(caller, id);
    (void)killed;
    co_return Error{Code::conflict, "the build was cancelled", ""};
  }
  context.build->sandbox = id;
  context.build->redaction = sandbox.value()->redaction();
  co_return sandbox;
}

// A step of a build has no name and no tags; it is found by its key alone.
store::Template as_step(const StepContext& context, store::Template last, const std::string& key) {
  last.tenant = context.build->tenant;
  last.kind = store::TemplateKind::step;
  last.cache_key = key;
  last.parent = last.id;
  last.tags.clear();
  last.name.clear();
  last.family.clear();
  last.sandbox.clear();
  last.start_command.clear();
  last.ready_command.clear();
  return last;
}

// The files of the sandbox as a layer, or when nothing changed the layers there are.
io::Task<Result<store::Template>> keep(StepContext context, std::string sandbox,
                                       store::Template asked, bool changed) {
  manager::Caller caller = context.caller;
  context.build->sandbox.clear();
  if (changed) {
    Result<store::Template> kept =
        co_await context.manager.finish_into_template(caller, sandbox, asked);
    co_return kept;
  }
  Result<void> killed = co_await context.manager.kill(caller, sandbox);
  (void)killed;  // gone already, by itself
  co_return context.manager.templates().add(asked, std::nullopt);
}

// Why a sandbox that is gone went, when it was not the step's own fault.
Error explain(Error error, const std::shared_ptr<manager::Sandbox>& sandbox) {
  if (!sandbox->info().ended_because.empty())
    error.message += cat(" (the sandbox ended: ", sandbox->info().ended_because, ")");
  return error;
}

}  // namespace

// Everything that the result of a step depends on. Two steps with the same key are the same.
std::string step_key(const store::Template& last, const BuildStep& step) {
  Value key, env{Value::Object{}};
  for (const auto& [name, text] : last.env) env.set(name, text);
  key.set("layers", text_list(last.layers));
  key.set("user", last.user);
  key.set("cwd", last.cwd);
  key.set("env", std::move(env));
  key.set("step", to_string(step.kind));
  key.set("args", text_list(step.args));
  key.set("files", step.files);
  return to_hex(sha256_bytes(to_json(key)));
}

// The sandbox becomes the next layer if the step succeeded, and is killed otherwise.
io::Task<Result<store::Template>> run_step(StepContext context, store::Template last,
                                           BuildStep step, std::string number, std::string key) {
  std::string from = last.id;
  CO_TRY(std::shared_ptr<manager::Sandbox> sandbox, co_await start_sandbox(context, from));
  std::string id = sandbox->info().id;
  std::shared_ptr<guest::Client> guest = sandbox->guest();
  Result<bool> changed = Error{Code::io, "the sandbox of the step ended at once", ""};
  if (guest && step.kind == StepKind::run)
    changed = co_await do_run(context, guest, last, step, number);
  if (guest && step.kind == StepKind::copy) changed = co_await do_copy(context, guest, last, step);
  if (guest && step.kind == StepKind::workdir) changed = co_await do_workdir(guest, last, step);
  if (guest && step.kind == StepKind::user) changed = co_await do_user(guest, last, step);
  if (!changed) {
    Error error = explain(changed.error(), sandbox);
    manager::Caller caller = context.caller;
    context.build->sandbox.clear();
    Result<void> killed = co_await context.manager.kill(caller, id);
    (void)killed;  // gone already, by itself
    co_return error;
  }
  store::Template asked = as_step(context, last, key);
  bool wrote = changed.value();
  Result<store::Template> kept = co_await keep(context, id, asked, wrote);
  co_return kept;
}

// The start command is tried once at build time, so that a template whose command fails is not
// kept.
io::Task<Result<store::Template>> run_start_command(StepContext context, store::Template last,
                                                    Recipe recipe) {
  std::string from = last.id;
  CO_TRY(std::shared_ptr<manager::Sandbox> sandbox, co_await start_sandbox(context, from));
  std::string id = sandbox->info().id;
  store::Template started = last;
  started.start_command = recipe.start_command;
  started.ready_command = recipe.ready_command;
  living::StartChecks checks;
  // It runs many times, mostly too early, so what it prints is for debugging only.
  std::shared_ptr<Build> build = context.build;
  checks.on_line = [build](bool, const std::string& line) {
    build->log("debug", "finalize", line);
  };
  std::shared_ptr<guest::Client> guest = sandbox->guest();
  Result<void> ready = Error{Code::io, "the sandbox of the start command ended at once", ""};
  if (guest) ready = co_await living::check_template_command(guest, started, checks);
  if (!ready) {
    Error error = explain(ready.error(), sandbox);
    manager::Caller caller = context.caller;
    context.build->sandbox.clear();
    Result<void> killed = co_await context.manager.kill(caller, id);
    (void)killed;  // gone already, by itself
    co_return error;
  }
  store::Template asked = as_step(context, last, "");
  Result<store::Template> kept = co_await keep(context, id, asked, true);
  co_return kept;
}

}  // namespace paddock::templates
