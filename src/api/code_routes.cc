// Native API: code that runs in the stateful interpreters of a sandbox.
#include "api/all_routes.h"
#include "api/code.h"
#include "api/guest_call.h"
#include "base/fields.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using code::Cell;
using code::Interpreter;
using io::Task;

constexpr size_t kLargestBody = 8 << 20;
constexpr size_t kMostCollected = 16 << 20;

// The interpreters of the sandbox in the path. Null: an error has been answered.
Task<std::shared_ptr<Interpreter>> interpreter_of(Call& call,
                                                  std::shared_ptr<manager::Sandbox> sandbox) {
  io::Loop& loop = call.manager.loop();
  Result<std::shared_ptr<Interpreter>> interpreter = co_await Interpreter::of(sandbox, loop);
  if (interpreter) co_return interpreter.value();
  co_await answer_error(call, interpreter.error());
  co_return nullptr;
}

Task<std::optional<Contexts>> contexts_of(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return std::nullopt;
  std::shared_ptr<manager::Sandbox> sandbox = inside->sandbox;
  std::shared_ptr<Interpreter> interpreter = co_await interpreter_of(call, sandbox);
  if (!interpreter) co_return std::nullopt;
  co_return Contexts{call, sandbox, interpreter};
}

// All that happened in a cell as one object:
// {"results","stdout","stderr","error","execution_count"}.
class Collected {
 public:
  bool add(std::string_view lines) {
    bytes_ += lines.size();
    if (bytes_ > kMostCollected) return false;
    for (size_t at = 0; at < lines.size();) {
      size_t end = lines.find('\n', at);
      Result<Value> event = parse_json(lines.substr(at, end - at), "event");
      at = end + 1;
      if (event) take(std::move(event.value()));
    }
    return true;
  }
  Value answer() && {
    Value value;
    value.set("results", std::move(results_));
    value.set("stdout", std::move(stdout_));
    value.set("stderr", std::move(stderr_));
    value.set("error", std::move(error_));
    value.set("execution_count", count_);
    return value;
  }

 private:
  void take(Value event) {
    const Value* type = event.find("type");
    const Value* text = event.find("text");
    const std::string kind = type && type->as_string() ? *type->as_string() : "";
    if (kind == "stdout" && text)
      stdout_.push_back(*text);
    else if (kind == "stderr" && text)
      stderr_.push_back(*text);
    else if (kind == "result")
      results_.push_back(without_type(std::move(event)));
    else if (kind == "error")
      error_ = without_type(std::move(event));
    else if (const Value* count = event.find("execution_count");
             kind == "number_of_executions" && count && count->as_int())
      count_ = *count->as_int();
  }
  static Value without_type(Value event) {
    std::erase_if(*event.as_object(),
                  [](const Value::Member& member) { return member.first == "type"; });
    return event;
  }

  Value::Array results_, stdout_, stderr_;
  Value error_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

Task<void> collect(Call& call, std::shared_ptr<Cell> cell) {
  Collected collected;
  call.exchange.on_client_gone([cell] { cell->abandon(); });
  while (true) {
    Cell::News news = co_await cell->next();
    if (news.kind == Cell::News::Kind::end) break;
    if (collected.add(news.lines)) continue;
    cell->abandon();
    Error error{Code::exhausted, cat("run code: it printed more than ", human_size(kMostCollected)),
                "leave out \"stream\": false"};
    co_await answer_error(call, error);
    co_return;
  }
  Value answer = std::move(collected).answer();
  put_counts(cell->redacted(), answer);
  (void)co_await call.exchange.answer_json(200, std::move(answer));
}

Task<void> run_code(Call& call) {
  Result<Value> body = co_await call.exchange.read_json(kLargestBody);
  if (!body) {
    co_await answer_error(call, body.error());
    co_return;
  }
  Fields fields(body.value());
  std::optional<std::string> code = fields.text("code");
  Interpreter::Where where{fields.text("context").value_or(""),
                           fields.text("language").value_or("")};
  code::CellRequest request{code.value_or(""), fields.texts_by_name("env")};
  bool streams = fields.flag("stream").value_or(true);
  if (!code) fields.wrong("code", "is missing");
  if (!where.context.empty() && !where.language.empty())
    fields.wrong("language", "belongs to the context: give one of them");
  Result<void> read = fields.done();
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  std::shared_ptr<manager::Sandbox> sandbox = inside->sandbox;
  Recorded recorded(call.manager, call.caller, sandbox);
  Result<void> told = co_await recorded.start_code(request.code, where.language, where.context);
  if (!told) {
    co_await answer_error(call, told.error());
    co_return;
  }
  std::shared_ptr<Interpreter> interpreter = co_await interpreter_of(call, sandbox);
  if (!interpreter) {
    recorded.not_started({Code::conflict, "its interpreters could not be reached", ""});
    co_return;
  }
  Result<std::shared_ptr<Cell>> begun = co_await interpreter->run(where, std::move(request));
  if (!begun) {
    recorded.not_started(begun.error());
    co_await answer_error(call, begun.error());
    co_return;
  }
  std::shared_ptr<Cell> cell = begun.value();
  io::Loop& loop = call.manager.loop();
  if (streams)
    co_await stream_cell(call.exchange, loop, cell);
  else
    co_await collect(call, cell);
  end_record(recorded, *cell);
}

Task<void> list_contexts(Call& call) {
  std::optional<Contexts> found = co_await contexts_of(call);
  if (!found) co_return;
  Value::Array contexts;
  for (const code::ContextInfo& info : found->interpreter->contexts())
    contexts.push_back(describe(info));
  Value answer;
  answer.set("contexts", std::move(contexts));
  (void)co_await call.exchange.answer_json(200, std::move(answer));
}

Task<void> create_context(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  if (!body) {
    co_await answer_error(call, body.error());
    co_return;
  }
  Fields fields(body.value());
  std::string language = fields.text("language").value_or(""),
              cwd = fields.text("cwd").value_or("");
  Result<void> read = fields.done();
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  std::optional<Contexts> contexts = co_await contexts_of(call);
  if (!contexts) co_return;
  Result<code::ContextInfo> made = co_await contexts->create(language, cwd);
  if (!made) {
    co_await answer_error(call, made.error());
    co_return;
  }
  Value answer = describe(made.value());
  (void)co_await call.exchange.answer_json(201, std::move(answer));
}

Task<void> change(Call& call, Contexts::Change change) {
  std::optional<Contexts> contexts = co_await contexts_of(call);
  if (!contexts) co_return;
  std::string id = call.parts["context"];
  Result<void> done = co_await contexts->change(std::move(id), change);
  if (!done)
    co_await answer_error(call, done.error());
  else
    (void)co_await call.exchange.answer_empty(204);
}

Task<void> remove_context(Call& call) { co_await change(call, Contexts::Change::remove); }
Task<void> restart_context(Call& call) { co_await change(call, Contexts::Change::restart); }

}  // namespace

const std::vector<Route>& code_routes() {
  static const std::vector<Route> kRoutes = {
      {"POST", "/v1/sandboxes/{id}/code", "sandboxes", run_code,
       "Run code in a stateful interpreter"},
      {"GET", "/v1/sandboxes/{id}/contexts", "read", list_contexts, "The interpreters' contexts"},
      {"POST", "/v1/sandboxes/{id}/contexts", "sandboxes", create_context,
       "Make a context: a language and a working directory"},
      {"DELETE", "/v1/sandboxes/{id}/contexts/{context}", "sandboxes", remove_context,
       "Remove a context"},
      {"POST", "/v1/sandboxes/{id}/contexts/{context}/restart", "sandboxes", restart_context,
       "Restart a context; its state is lost"},
  };
  return kRoutes;
}

}  // namespace paddock::api
