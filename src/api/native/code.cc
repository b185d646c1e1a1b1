// Native API: code that runs in the stateful interpreters of a sandbox.
#include "api/e2b/code.h"
#include "api/http/all_routes.h"
#include "api/native/describe.h"
#include "api/native/sandbox_call.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using code::Cell;
using code::Interpreter;
using io::Task;

constexpr size_t kLargestBody = 8 << 20;
constexpr size_t kMostCollected = 16 << 20;

// The contexts of the sandbox that the path names.
Task<Result<Contexts>> contexts_of(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  io::Loop& loop = call.manager.loop();
  CO_TRY(std::shared_ptr<Interpreter> interpreter, co_await Interpreter::of(inside.sandbox, loop));
  co_return Contexts{std::move(inside), interpreter};
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

// Waits for the end of the cell and answers with all that happened.
Task<Result<Reply>> collect(Call& call, std::shared_ptr<Cell> cell) {
  Collected collected;
  call.exchange.on_client_gone([cell] { cell->abandon(); });
  while (true) {
    Cell::News news = co_await cell->next();
    if (news.kind == Cell::News::Kind::end) break;
    if (collected.add(news.lines)) continue;
    cell->abandon();
    co_return Error{Code::exhausted,
                    cat("run code: it printed more than ", human_size(kMostCollected)),
                    "leave out \"stream\": false"};
  }
  Value answer = std::move(collected).answer();
  put_counts(cell->redacted(), answer);
  co_return Reply::json(200, answer);
}

// Where code is to run, the code, and how it is answered.
struct CodeRequest {
  Interpreter::Where where;
  code::CellRequest cell;
  bool streams = true;
};

// The body of POST /v1/sandboxes/{id}/code.
Result<CodeRequest> read_code(Fields fields) {
  std::optional<std::string> code = fields.text("code");
  CodeRequest request;
  request.where = {fields.text("context").value_or(""), fields.text("language").value_or("")};
  request.cell = {code.value_or(""), fields.texts_by_name("env")};
  request.streams = fields.flag("stream").value_or(true);
  if (!code) fields.wrong("code", "is missing");
  if (!request.where.context.empty() && !request.where.language.empty())
    fields.wrong("language", "belongs to the context: give one of them");
  TRY(fields.done());
  return request;
}

// Starts the interpreter where needed, and hands it the cell.
Task<Result<std::shared_ptr<Cell>>> begin(Call& call, std::shared_ptr<manager::Sandbox> sandbox,
                                          CodeRequest request) {
  io::Loop& loop = call.manager.loop();
  CO_TRY(std::shared_ptr<Interpreter> interpreter, co_await Interpreter::of(sandbox, loop));
  Result<std::shared_ptr<Cell>> begun =
      co_await interpreter->run(request.where, std::move(request.cell));
  co_return begun;
}

// Runs code, recorded before it starts: as a stream of events, or as one object.
Task<Result<Reply>> run_code(Call& call) {
  CO_TRY(Fields fields, co_await call.fields(kLargestBody));
  CO_TRY(CodeRequest request, read_code(fields));
  CO_TRY(SandboxCall inside, co_await enter(call));
  Recorded recorded(call.manager, call.caller, inside.sandbox);
  CO_TRY_VOID(co_await recorded.start_code(request.cell.code, request.where.language,
                                           request.where.context));
  bool streams = request.streams;
  Result<std::shared_ptr<Cell>> begun = co_await begin(call, inside.sandbox, std::move(request));
  if (!begun) {
    recorded.not_started(begun.error());
    co_return begun.error();
  }
  std::shared_ptr<Cell> cell = begun.value();
  Result<Reply> reply = Reply::sent();
  if (streams)
    co_await stream_cell(call, cell);
  else
    reply = co_await collect(call, cell);
  end_record(recorded, *cell);
  co_return reply;
}

Task<Result<Reply>> list_contexts(Call& call) {
  CO_TRY(Contexts found, co_await contexts_of(call));
  co_return list_reply("contexts", found.interpreter->contexts(),
                       [](const auto& info) { return describe(info); });
}

Task<Result<Reply>> create_context(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::string language = fields.text("language").value_or(""),
              cwd = fields.text("cwd").value_or("");
  CO_TRY_VOID(fields.done());
  CO_TRY(Contexts contexts, co_await contexts_of(call));
  CO_TRY(code::ContextInfo made, co_await contexts.create(language, cwd));
  co_return Reply::json(201, describe(made));
}

Task<Result<Reply>> change(Call& call, Contexts::Change change) {
  CO_TRY(Contexts contexts, co_await contexts_of(call));
  std::string id = call.part("context");
  CO_TRY_VOID(co_await contexts.change(std::move(id), change));
  co_return Reply::empty(204);
}

Task<Result<Reply>> remove_context(Call& call) { return change(call, Contexts::Change::remove); }
Task<Result<Reply>> restart_context(Call& call) { return change(call, Contexts::Change::restart); }

}  // namespace

std::vector<Route> code_routes() {
  return {
      {"POST", "/v1/sandboxes/{id}/code", "sandboxes", run_code,
       "Run code in a stateful interpreter", "", "Code", "lines:CodeEvent"},
      {"GET", "/v1/sandboxes/{id}/contexts", "read", list_contexts, "The interpreters' contexts",
       "", "", "Contexts"},
      {"POST", "/v1/sandboxes/{id}/contexts", "sandboxes", create_context,
       "Make a context: a language and a working directory", "", "MakeContext", "Context", 201},
      {"DELETE", "/v1/sandboxes/{id}/contexts/{context}", "sandboxes", remove_context,
       "Remove a context"},
      {"POST", "/v1/sandboxes/{id}/contexts/{context}/restart", "sandboxes", restart_context,
       "Restart a context; its state is lost"},
  };
}

}  // namespace paddock::api
