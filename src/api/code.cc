#include "api/code.h"

#include <algorithm>

#include "api/envd_access.h"
#include "api/server.h"
#include "base/text.h"
#include "code/languages.h"

namespace paddock::api {

namespace {

using code::Cell;
using code::ContextInfo;
using code::Interpreter;
using io::Task;

constexpr size_t kLargestBody = 8 << 20;
// Contexts of a sandbox, where who makes one shows no token.
constexpr size_t kMostWithoutToken = 8;

// The clients show the text of a 404 and a 502, and of others the first line alone.
Task<void> say(Exchange& exchange, int status, std::string text) {
  if (status >= 400) exchange.set_reason(text);
  Headers headers{{"Content-Type", "text/plain; charset=utf-8"}};
  (void)co_await exchange.answer(status, std::move(headers), std::move(text));
}

// Errors are plain text here. A sandbox that is gone is a 502, which clients take for its end.
Task<void> say_error(Call& call, Error error) {
  int status = status_of(error);
  if (error.code == Code::conflict || error.hint == "unavailable" || error.hint == "canceled")
    status = 502;
  std::string text = error.message;
  if (!error.hint.empty() && error.hint.find(' ') != std::string::npos)
    text += cat(" (", error.hint, ")");
  if (call.redaction) text = redact::redacted(*call.redaction, text);
  note_failure(call, error);
  co_await say(call.exchange, status, std::move(text));
}

struct ExecuteRequest {
  Interpreter::Where where;
  code::CellRequest cell;
};

Error wrong(const std::string& field, const std::string& what) {
  return Error{Code::invalid, cat(field, ": Input should be ", what), "422"};
}

// A text that may be missing or null.
Result<std::string> valid_text(const Value& body, const std::string& field) {
  const Value* value = body.find(field);
  if (!value || value->is_null()) return std::string();
  if (!value->as_string()) return wrong(field, "a valid string");
  return *value->as_string();
}

Result<ExecuteRequest> read_execute(const Value& body) {
  ExecuteRequest request;
  const Value* code = body.find("code");
  if (!code || !code->as_string()) return wrong("code", "a valid string");
  request.cell.code = *code->as_string();
  request.where.context = TRY(valid_text(body, "context_id"));
  request.where.language = TRY(valid_text(body, "language"));
  if (!request.where.context.empty() && !request.where.language.empty())
    return Error{Code::invalid, "Only one of context_id or language can be provided", ""};
  const Value* env = body.find("env_vars");
  if (!env || env->is_null()) return request;
  if (!env->as_object()) return wrong("env_vars", "a valid dictionary");
  for (const auto& [name, value] : *env->as_object()) {
    bool usable = !name.empty() && name.find('=') == std::string::npos &&
                  name.find('\0') == std::string::npos;
    if (!value.as_string() || !usable || value.as_string()->find('\0') != std::string::npos)
      return wrong(cat("env_vars.", printable(name)), "a valid string");
    request.cell.env[name] = *value.as_string();
  }
  return request;
}

// A cell that could not begin, as its only event: that reaches the user of every client, and a
// status does not.
Task<void> say_as_event(Call& call, Error error) {
  std::string text = error.message;
  if (!error.hint.empty() && error.hint.find(' ') != std::string::npos)
    text += cat(" (", error.hint, ")");
  if (call.redaction) text = redact::redacted(*call.redaction, text);
  note_failure(call, error);
  Value event = Value::Object{
      {"type", "error"}, {"name", "KernelNotStarted"}, {"value", text}, {"traceback", text}};
  std::string body = cat(to_json(event), "\n{\"type\":\"end_of_execution\"}\n");
  Headers headers{{"Content-Type", "application/x-ndjson"}};
  (void)co_await call.exchange.answer(200, std::move(headers), std::move(body));
}

struct Session {
  Call& call;
  Exchange& exchange;
  io::Loop& loop;
  std::shared_ptr<manager::Sandbox> sandbox;
  std::shared_ptr<Interpreter> interpreter;
  bool trusted = false;  // the sandbox's token was shown
};

Task<void> refuse_body(Exchange& exchange, Error error) {
  int status = error.hint == "422" ? 422 : status_of(error.code);
  co_await say(exchange, status, error.message);
}

Task<void> execute(Session& session) {
  Result<Value> body = co_await session.exchange.read_json(kLargestBody);
  Result<ExecuteRequest> request =
      body ? read_execute(body.value()) : Result<ExecuteRequest>(body.error());
  if (!request) {
    co_await refuse_body(session.exchange, request.error());
    co_return;
  }
  ExecuteRequest asked = std::move(request.value());
  Recorded recorded(session.call.manager, session.call.caller, session.sandbox);
  Result<void> told =
      co_await recorded.start_code(asked.cell.code, asked.where.language, asked.where.context);
  if (!told) {
    co_await say_error(session.call, told.error());
    co_return;
  }
  Result<std::shared_ptr<Cell>> cell =
      co_await session.interpreter->run(asked.where, std::move(asked.cell));
  if (!cell) {
    Error error = cell.error();
    recorded.not_started(error);
    // A context that is not there, or a sandbox that is gone, has a status that clients know.
    bool known = error.code == Code::not_found || error.code == Code::conflict ||
                 error.hint == "unavailable" || error.hint == "canceled" ||
                 error.kind == Kind::unrecorded;
    if (known)
      co_await say_error(session.call, error);
    else
      co_await say_as_event(session.call, error);
    co_return;
  }
  std::shared_ptr<Cell> begun = cell.value();
  co_await stream_cell(session.exchange, session.loop, begun);
  end_record(recorded, *begun);
}

Task<void> create_context(Session& session) {
  Result<Value> body = co_await session.exchange.read_json();
  Result<std::string> language =
      body ? valid_text(body.value(), "language") : Result<std::string>(body.error());
  Result<std::string> cwd =
      body ? valid_text(body.value(), "cwd") : Result<std::string>(body.error());
  if (!language || !cwd) {
    Error error = language ? cwd.error() : language.error();
    co_await refuse_body(session.exchange, error);
    co_return;
  }
  if (!session.trusted && session.interpreter->contexts().size() >= kMostWithoutToken) {
    Error error{Code::exhausted,
                cat("make a context: without the access token a sandbox has ", kMostWithoutToken,
                    " at most"),
                "remove some"};
    co_await say_error(session.call, error);
    co_return;
  }
  Contexts contexts{session.call, session.sandbox, session.interpreter};
  Result<ContextInfo> made = co_await contexts.create(language.value(), cwd.value());
  if (!made) {
    co_await say_error(session.call, made.error());
    co_return;
  }
  Value answer = describe(made.value());
  (void)co_await session.exchange.answer_json(200, std::move(answer));
}

Task<void> list_contexts(Session& session) {
  Value::Array list;
  for (const ContextInfo& info : session.interpreter->contexts()) list.push_back(describe(info));
  Value answer = std::move(list);
  (void)co_await session.exchange.answer_json(200, std::move(answer));
}

Task<void> change_context(Session& session, std::string id, Contexts::Change change) {
  Contexts contexts{session.call, session.sandbox, session.interpreter};
  Result<void> done = co_await contexts.change(std::move(id), change);
  if (!done) {
    co_await say_error(session.call, done.error());
    co_return;
  }
  Headers headers{{"Content-Type", "application/json"}};
  std::string body = "null";
  (void)co_await session.exchange.answer(200, std::move(headers), std::move(body));
}

}  // namespace

Value describe(const ContextInfo& info) {
  return Value::Object{{"id", info.id}, {"language", info.language}, {"cwd", info.cwd}};
}

Task<Result<ContextInfo>> Contexts::create(std::string language, std::string cwd) {
  Result<std::string> name = code::language_of(language.empty() ? "python" : language);
  if (!name) co_return name.error();
  Value data = Value::Object{{"act", "create"}, {"language", name.value()}, {"cwd", cwd}};
  Result<void> recorded = co_await record_doing(call, sandbox, "code.context", std::move(data));
  if (!recorded) co_return recorded.error();
  Result<ContextInfo> made = co_await interpreter->create(std::move(language), std::move(cwd));
  co_return made;
}

Task<Result<void>> Contexts::change(std::string id, Change change) {
  std::vector<ContextInfo> all = interpreter->contexts();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const ContextInfo& info) { return info.id == id; });
  Result<void> done;
  if (found != all.end()) {
    Value data = Value::Object{{"act", change == Change::restart ? "restart" : "remove"},
                               {"context", id},
                               {"language", found->language}};
    done = co_await record_doing(call, sandbox, "code.context", std::move(data));
  }
  if (!done) co_return done.error();
  if (change == Change::restart)
    done = co_await interpreter->restart(std::move(id));
  else
    done = co_await interpreter->remove(std::move(id));
  co_return done;
}

Task<void> serve_code_interpreter(Call& call, std::shared_ptr<manager::Sandbox> sandbox) {
  Exchange& exchange = call.exchange;
  const std::string path = exchange.path(), method = exchange.head().method;
  if (path == "/health" && (method == "GET" || method == "HEAD")) {
    Headers headers{{"Content-Type", "application/json"}};
    std::string body = "\"OK\"";
    (void)co_await exchange.answer(200, std::move(headers), std::move(body));
    co_return;
  }
  std::vector<std::string> parts = split(std::string_view(path).substr(path.empty() ? 0 : 1), '/');
  bool executes = path == "/execute", contexts = parts[0] == "contexts";
  if (!executes && !contexts) {
    co_await say(exchange, 404, "Not Found");
    co_return;
  }
  // The clients show it with /execute alone; for the rest the id of the sandbox must do (and the
  // traffic token, where there is one).
  const char* why_not = sandbox->info().access_token.empty()
                            ? nullptr
                            : why_not_by_token(exchange, sandbox->info().access_token);
  bool changes = method != "GET" && method != "HEAD";
  bool may = !why_not || (!executes && !changes) || call.server.take_try(exchange.peer());
  if (!may) {
    co_await say(exchange, 429, "too many tries without a valid token");
    co_return;
  }
  if (executes && why_not) {
    call.server.note_refused(call, 401, why_not);
    co_await say(exchange, 401, why_not);
    co_return;
  }
  io::Loop& loop = call.manager.loop();
  Result<std::shared_ptr<Interpreter>> interpreter = co_await Interpreter::of(sandbox, loop);
  if (!interpreter) {
    co_await say_error(call, interpreter.error());
    co_return;
  }
  Session session{call, exchange, loop, sandbox, interpreter.value(), !why_not};
  std::string id = parts.size() > 1 ? percent_decode(parts[1]) : "";
  if (executes && method == "POST")
    co_await execute(session);
  else if (contexts && parts.size() == 1 && method == "POST")
    co_await create_context(session);
  else if (contexts && parts.size() == 1 && method == "GET")
    co_await list_contexts(session);
  else if (contexts && parts.size() == 2 && method == "DELETE")
    co_await change_context(session, id, Contexts::Change::remove);
  else if (contexts && parts.size() == 3 && parts[2] == "restart" && method == "POST")
    co_await change_context(session, id, Contexts::Change::restart);
  else
    co_await say(exchange, 405, "Method Not Allowed");
}

}  // namespace paddock::api
