#include "api/native/exec_request.h"

#include "base/fields.h"
#include "base/text.h"
#include "base/units.h"
#include "run/run.h"

namespace paddock::api {

namespace {

// The guest passes these as C strings.
Result<void> check_text(const std::string& text) {
  if (text.find('\0') != std::string::npos)
    return Error{Code::invalid, "a NUL cannot stand in arguments, variables or paths", ""};
  return {};
}

}  // namespace

Result<ExecRequest> read_exec(const Value& body, bool streams) {
  ExecRequest request;
  Fields fields(body);
  std::optional<std::vector<std::string>> argv = fields.texts("argv");
  std::optional<std::string> command = fields.text("command");
  std::map<std::string, std::string> env = fields.texts_by_name("env");
  std::string cwd = fields.text("cwd").value_or(""), user = fields.text("user").value_or(""),
              tag = fields.text("tag").value_or("");
  request.timeout_ms = fields.number("timeout_ms", 0).value_or(0);
  request.background = fields.flag("background").value_or(false);
  bool wants_stdin = false;
  const Value* stdin_value = fields.any("stdin");
  if (stdin_value && stdin_value->as_bool() && streams)
    wants_stdin = *stdin_value->as_bool();
  else if (stdin_value && stdin_value->as_string())
    request.input = *stdin_value->as_string();
  else if (stdin_value && !(stdin_value->as_bool() && !*stdin_value->as_bool()))
    fields.wrong("stdin",
                 streams ? "must be true, false or the text itself" : "must be the text itself");
  const Value* terminal = streams ? fields.any("terminal") : nullptr;
  Value size;
  if (terminal) {
    Fields sizes(*terminal, "terminal");
    size.set("rows", sizes.number("rows", 1, 10'000).value_or(24));
    size.set("columns", sizes.number("columns", 1, 10'000).value_or(80));
    TRY(sizes.done());
  }
  TRY(fields.done());
  if (argv.has_value() == command.has_value())
    return Error{Code::invalid, "a command needs either \"argv\" or \"command\"", ""};
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

std::optional<int64_t> pid_in_path(const Call& call) {
  std::string text = call.part("pid");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

Value start_event(int64_t pid) { return Value::Object{{"type", "start"}, {"pid", pid}}; }

Value output_event(uint8_t stream, std::string_view bytes) {
  Value event;
  event.set("type", stream == guest::kErrors ? "stderr" : "stdout");
  bool changed = false;
  std::string text = to_utf8(bytes, &changed);
  if (changed)
    event.set("base64", base64(bytes));
  else
    event.set("data", std::move(text));
  return event;
}

Value end_event(const Command& command, const Command::News& news) {
  const manager::Sandbox& sandbox = *command.inside().sandbox;
  Value event;
  if (news.outcome) {
    event = Value::Object{{"type", "end"}, {"outcome", *news.outcome}};
    put_counts(command.counts(), event);
  } else {
    event = error_event(without_secrets(sandbox, from_guest(sandbox, news.error)));
  }
  put_history(sandbox, event);
  return event;
}

Value error_event(const Error& error) {
  Value inner = Value::Object{
      {"code", to_string(error.code)}, {"message", error.message}, {"hint", error.hint}};
  return Value::Object{{"type", "error"}, {"error", std::move(inner)}};
}

void put_history(const manager::Sandbox& sandbox, Value& into) {
  if (sandbox.info().ended_by && !sandbox.info().ended_by->rule.empty())
    into.set("history", to_value(sandbox.history().recent()));
}

void log_command(const RunningSandbox& inside, const Value& start, int64_t pid) {
  Value fields;
  fields.set("pid", pid);
  for (const char* key : {"argv", "user"})
    if (const Value* value = start.find(key)) fields.set(key, *value);
  inside.sandbox->add_log("command", std::move(fields));
}

}  // namespace paddock::api
