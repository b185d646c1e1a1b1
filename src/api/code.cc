#include "api/code.h"

#include "api/envd_access.h"
#include "api/server.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using manager::Cell;
using manager::ContextInfo;
using manager::Interpreter;

constexpr size_t kLargestBody = 8 << 20;
constexpr size_t kMostWithoutToken = 8;  // contexts of a sandbox, where who makes one shows no token

Task<void> say(Exchange& exchange, int status, std::string text) {
  Headers headers{{"Content-Type", "text/plain; charset=utf-8"}};
  (void)co_await exchange.answer(status, std::move(headers), std::move(text));
}

// Errors are plain text here. A sandbox that is gone is a 502, which clients take for its end.
Task<void> say_error(Exchange& exchange, Error error) {
  int status = status_of(error.code);
  if (error.code == Code::conflict || error.hint == "unavailable" || error.hint == "canceled") status = 502;
  std::string text = error.message;
  if (!error.hint.empty() && error.hint.find(' ') != std::string::npos) text += cat(" (", error.hint, ")");
  co_await say(exchange, status, std::move(text));
}

struct ExecuteRequest {
  Interpreter::Where where;
  manager::CellRequest cell;
};

Error wrong(const std::string& field, const std::string& what) { return Error{Code::invalid, cat(field, ": Input should be ", what), "422"}; }

// A text that may be missing or null.
Result<std::string> text_in(const Value& body, const std::string& field) {
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
  request.where.context = TRY(text_in(body, "context_id"));
  request.where.language = TRY(text_in(body, "language"));
  if (!request.where.context.empty() && !request.where.language.empty()) return Error{Code::invalid, "Only one of context_id or language can be provided", ""};
  const Value* env = body.find("env_vars");
  if (!env || env->is_null()) return request;
  if (!env->as_object()) return wrong("env_vars", "a valid dictionary");
  for (const auto& [name, value] : *env->as_object()) {
    bool usable = !name.empty() && name.find('=') == std::string::npos && name.find('\0') == std::string::npos;
    if (!value.as_string() || !usable || value.as_string()->find('\0') != std::string::npos) return wrong(cat("env_vars.", printable(name)), "a valid string");
    request.cell.env[name] = *value.as_string();
  }
  return request;
}

struct Session {
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
  Result<ExecuteRequest> request = body ? read_execute(body.value()) : Result<ExecuteRequest>(body.error());
  if (!request) {
    co_await refuse_body(session.exchange, request.error());
    co_return;
  }
  ExecuteRequest asked = std::move(request.value());
  Result<std::shared_ptr<Cell>> cell = co_await session.interpreter->run(asked.where, std::move(asked.cell));
  if (!cell) {
    co_await say_error(session.exchange, cell.error());
    co_return;
  }
  std::shared_ptr<Cell> begun = cell.value();
  co_await stream_cell(session.exchange, session.loop, begun);
}

Task<void> create_context(Session& session) {
  Result<Value> body = co_await session.exchange.read_json();
  Result<std::string> language = body ? text_in(body.value(), "language") : Result<std::string>(body.error());
  Result<std::string> cwd = body ? text_in(body.value(), "cwd") : Result<std::string>(body.error());
  if (!language || !cwd) {
    Error error = language ? cwd.error() : language.error();
    co_await refuse_body(session.exchange, error);
    co_return;
  }
  if (!session.trusted && session.interpreter->contexts().size() >= kMostWithoutToken) {
    Error error{Code::exhausted, cat("make a context: without the access token a sandbox has ", kMostWithoutToken, " at most"), "remove some"};
    co_await say_error(session.exchange, error);
    co_return;
  }
  Result<ContextInfo> made = co_await session.interpreter->create(language.value(), cwd.value());
  if (!made) {
    co_await say_error(session.exchange, made.error());
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

Task<void> change_context(Session& session, std::string id, bool restart) {
  Result<void> done;
  if (restart) done = co_await session.interpreter->restart(id);
  else done = co_await session.interpreter->remove(id);
  if (!done) {
    co_await say_error(session.exchange, done.error());
    co_return;
  }
  Headers headers{{"Content-Type", "application/json"}};
  std::string body = "null";
  (void)co_await session.exchange.answer(200, std::move(headers), std::move(body));
}

}  // namespace

Value describe(const ContextInfo& info) { return Value::Object{{"id", info.id}, {"language", info.language}, {"cwd", info.cwd}}; }

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
  // The clients show it with /execute alone; for the rest the id of the sandbox must do (and the traffic token, where there is one).
  const char* why_not = sandbox->info().access_token.empty() ? nullptr : why_not_by_token(exchange, sandbox->info().access_token);
  bool changes = method != "GET" && method != "HEAD";
  bool may = !why_not || (!executes && !changes) || call.server.take_try(exchange.peer());
  if (!may) {
    co_await say(exchange, 429, "too many tries without a valid token");
    co_return;
  }
  if (executes && why_not) {
    co_await say(exchange, 401, why_not);
    co_return;
  }
  io::Loop& loop = call.manager.loop();
  Result<std::shared_ptr<Interpreter>> interpreter = co_await Interpreter::of(sandbox, loop);
  if (!interpreter) {
    co_await say_error(exchange, interpreter.error());
    co_return;
  }
  Session session{exchange, loop, sandbox, interpreter.value(), !why_not};
  std::string id = parts.size() > 1 ? percent_decode(parts[1]) : "";
  if (executes && method == "POST") co_await execute(session);
  else if (contexts && parts.size() == 1 && method == "POST") co_await create_context(session);
  else if (contexts && parts.size() == 1 && method == "GET") co_await list_contexts(session);
  else if (contexts && parts.size() == 2 && method == "DELETE") co_await change_context(session, id, false);
  else if (contexts && parts.size() == 3 && parts[2] == "restart" && method == "POST") co_await change_context(session, id, true);
  else co_await say(exchange, 405, "Method Not Allowed");
}

}  // namespace paddock::api
