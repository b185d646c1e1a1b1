#include "api/exec_request.h"

#include <signal.h>
#include <string.h>

#include "api/fields.h"
#include "api/output_redaction.h"
#include "base/text.h"
#include "base/units.h"
#include "manager/run.h"

namespace paddock::api {

namespace {

using io::Task;

Result<void> check_text(const std::string& text) {
  if (text.find('\0') != std::string::npos) return Error{Code::invalid, "a NUL cannot stand in arguments, variables or paths", ""};
  return {};
}

std::string signal_name(int64_t number) {
  const char* name = number > 0 && number < NSIG ? ::sigabbrev_np(static_cast<int>(number)) : nullptr;
  return name ? cat("SIG", name) : cat("signal ", number);
}

Task<void> send_kill(std::shared_ptr<guest::Client> guest, int64_t pid) {
  Value request;
  request.set("op", "signal");
  request.set("pid", pid);
  request.set("signal", "SIGKILL");
  (void)co_await guest->ask(std::move(request));
}

Value limit_outcome(const LimitHit& hit) { return manager::to_value(Outcome{.kind = Outcome::Kind::limit, .limit = hit}); }

}  // namespace

Result<ExecRequest> read_exec(const Value& body, bool streams) {
  ExecRequest request;
  Fields fields(body);
  std::optional<std::vector<std::string>> argv = fields.texts("argv");
  std::optional<std::string> command = fields.text("command");
  std::map<std::string, std::string> env = fields.texts_by_name("env");
  std::string cwd = fields.text("cwd").value_or(""), user = fields.text("user").value_or(""), tag = fields.text("tag").value_or("");
  request.timeout_ms = fields.number("timeout_ms", 0).value_or(0);
  request.background = fields.flag("background").value_or(false);
  bool wants_stdin = false;
  const Value* stdin_value = fields.any("stdin");
  if (stdin_value && stdin_value->as_bool() && streams) wants_stdin = *stdin_value->as_bool();
  else if (stdin_value && stdin_value->as_string()) request.input = *stdin_value->as_string();
  else if (stdin_value && !(stdin_value->as_bool() && !*stdin_value->as_bool())) fields.wrong("stdin", streams ? "must be true, false or the text itself" : "must be the text itself");
  const Value* terminal = streams ? fields.any("terminal") : nullptr;
  Value size;
  if (terminal) {
    Fields sizes(*terminal, "terminal");
    size.set("rows", sizes.number("rows", 1, 10'000).value_or(24));
    size.set("columns", sizes.number("columns", 1, 10'000).value_or(80));
    TRY(sizes.done());
  }
  TRY(fields.done());
  if (argv.has_value() == command.has_value()) return Error{Code::invalid, "a command needs either \"argv\" or \"command\"", ""};
  if (command) argv = {"/bin/bash", "-l", "-c", *command};
  if (argv->empty() || argv->front().empty()) return Error{Code::invalid, "argv is empty", ""};
  for (const std::string& word : *argv) TRY(check_text(word));
  for (const auto& [name, value] : env) {
    TRY(check_text(name));
    TRY(check_text(value));
  }
  TRY(check_text(cwd));

  request.start.set("op", "start");
  request.start.set("argv", text_list(*argv));
  Value variables(Value::Object{});
  for (const auto& [name, value] : env) variables.set(name, value);
  request.start.set("env", std::move(variables));
  if (!cwd.empty()) request.start.set("cwd", cwd);
  if (!user.empty()) request.start.set("user", user);
  if (!tag.empty()) request.start.set("tag", tag);
  request.start.set("stdin", wants_stdin || request.input.has_value());
  if (terminal) request.start.set("terminal", std::move(size));
  if (request.timeout_ms > 0) request.start.set("timeout_ms", request.timeout_ms);
  return request;
}

Value start_event(const Value& message) {
  Value event;
  event.set("type", "start");
  const Value* pid = message.find("pid");
  event.set("pid", pid ? *pid : Value());
  return event;
}

Value output_event(uint8_t stream, std::string_view bytes) {
  Value event;
  event.set("type", stream == guest::kErrors ? "stderr" : "stdout");
  bool changed = false;
  std::string text = to_utf8(bytes, &changed);
  if (changed) event.set("base64", base64(bytes));
  else event.set("data", std::move(text));
  return event;
}

Value ended_event(Value outcome, const redact::Counts& counts) {
  Value event;
  event.set("type", "end");
  event.set("outcome", std::move(outcome));
  put_counts(counts, event);
  return event;
}

Value error_event(const Error& error) {
  Value inner;
  inner.set("code", to_string(error.code));
  inner.set("message", error.message);
  inner.set("hint", error.hint);
  Value event;
  event.set("type", "error");
  event.set("error", std::move(inner));
  return event;
}

Task<Value> outcome_of(manager::Manager& manager, Inside inside, Value result, int64_t timeout_ms) {
  const Value *timed_out = result.find("timed_out"), *signal = result.find("signal"), *code = result.find("code");
  if (timed_out && timed_out->as_bool() && *timed_out->as_bool()) {
    uint64_t limit = static_cast<uint64_t>(timeout_ms);
    co_return limit_outcome({LimitKind::wall_time, limit, limit});
  }
  int64_t number = signal && signal->as_int() ? *signal->as_int() : 0, exited = code && code->as_int() ? *code->as_int() : 0;
  if (number == SIGKILL || exited == 128 + SIGKILL) {
    // The kernel does not say whom it killed; that it killed somebody since the last time is as near as one gets.
    manager::Caller owner{inside.sandbox->info().tenant, {"admin"}};
    std::string id = inside.sandbox->info().id;
    Result<manager::InstanceUsage> usage = co_await manager.usage(owner, id);
    std::shared_ptr<void>& kept = inside.sandbox->parts["exec.oom_kills"];
    if (!kept) kept = std::make_shared<uint64_t>(0);
    uint64_t& seen = *static_cast<uint64_t*>(kept.get());
    bool killed = usage && usage.value().oom_kills > seen;
    if (usage) seen = usage.value().oom_kills;
    if (killed) co_return limit_outcome({LimitKind::memory, inside.sandbox->info().memory_bytes, usage.value().memory_peak});
  }
  Value outcome;
  outcome.set("kind", number > 0 ? "signaled" : "exited");
  if (number > 0) outcome.set("signal", signal_name(number));
  else outcome.set("code", exited);
  co_return outcome;
}

Task<std::optional<Value>> limit_that_ended(manager::Manager& manager, Inside inside, const Error& failure) {
  const manager::SandboxInfo& info = inside.sandbox->info();
  // Why it ended is known a moment after its guest is gone.
  int tries = failure.hint == "unavailable" ? 50 : 0;
  for (; tries > 0 && info.ended_because.empty(); --tries) co_await manager.loop().sleep(20);
  if (info.ended_by) co_return limit_outcome(*info.ended_by);
  co_return std::nullopt;
}

void put_history(const manager::Sandbox& sandbox, Value& into) {
  if (sandbox.info().ended_by && !sandbox.info().ended_by->rule.empty()) into.set("history", manager::to_value(sandbox.history().recent()));
}

void log_command(const Inside& inside, const Value& start, int64_t pid) {
  Value fields;
  fields.set("pid", pid);
  for (const char* key : {"argv", "user"})
    if (const Value* value = start.find(key)) fields.set(key, *value);
  inside.sandbox->add_log("command", std::move(fields));
}

void kill_process(std::shared_ptr<guest::Client> guest, int64_t pid) { io::spawn(send_kill(std::move(guest), pid)); }

}  // namespace paddock::api
