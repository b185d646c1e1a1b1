#include "api/native/exec_request.h"

#include "base/fields.h"
#include "base/text.h"
#include "base/units.h"
#include "run/run.h"

namespace paddock::api {

namespace {

// The guest passes these as C strings.
Result<void> check_texts(const guest::StartRequest& request) {
  std::vector<std::string> texts = request.argv;
  texts.push_back(request.cwd);
  for (const auto& [name, value] : request.env) {
    texts.push_back(name);
    texts.push_back(value);
  }
  for (const std::string& text : texts)
    if (text.find('\0') != std::string::npos)
      return Error{Code::invalid, "a NUL cannot stand in arguments, variables or paths", ""};
  return {};
}

// "stdin": the text itself, or where the request streams whether there will be some.
void read_stdin(Fields& fields, bool streams, ExecRequest& request) {
  const Value* value = fields.any("stdin");
  if (!value) return;
  if (value->as_string())
    request.input = *value->as_string();
  else if (!value->as_bool() || (*value->as_bool() && !streams))
    fields.wrong("stdin",
                 streams ? "must be true, false or the text itself" : "must be the text itself");
  request.start.wants_input = request.input || (value->as_bool() && *value->as_bool());
}

}  // namespace

Result<ExecRequest> read_exec(const Value& body, bool streams) {
  ExecRequest request;
  guest::StartRequest& start = request.start;
  Fields fields(body);
  std::optional<std::vector<std::string>> argv = fields.texts("argv");
  std::optional<std::string> command = fields.text("command");
  start.env = fields.texts_by_name("env");
  start.cwd = fields.text("cwd").value_or("");
  start.user = fields.text("user").value_or("");
  start.tag = fields.text("tag").value_or("");
  start.timeout_ms = fields.number("timeout_ms", 0).value_or(0);
  request.background = fields.flag("background").value_or(false);
  read_stdin(fields, streams, request);
  if (const Value* terminal = streams ? fields.any("terminal") : nullptr) {
    Fields sizes(*terminal, "terminal");
    start.terminal = {.rows = sizes.number("rows", 1, 10'000).value_or(24),
                      .columns = sizes.number("columns", 1, 10'000).value_or(80)};
    TRY(sizes.done());
  }
  TRY(fields.done());
  if (argv.has_value() == command.has_value())
    return Error{Code::invalid, "a command needs either \"argv\" or \"command\"", ""};
  start.argv = argv ? *argv : std::vector<std::string>{"/bin/bash", "-l", "-c", *command};
  if (start.argv.empty() || start.argv.front().empty())
    return Error{Code::invalid, "argv is empty", ""};
  TRY(check_texts(start));
  return request;
}

std::optional<int64_t> pid_in_path(const Call& call) { return parse_digits(call.part("pid"), 9); }

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

}  // namespace paddock::api
