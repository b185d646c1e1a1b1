#include "api/e2b/code.h"

#include <algorithm>

#include "api/e2b/envd_access.h"
#include "api/http/server.h"
#include "base/error_table.h"
#include "base/percent.h"
#include "base/text.h"
#include "code/languages.h"

namespace paddock::api {

namespace {

using code::Cell;
using code::ContextInfo;
using code::Interpreter;
using io::Task;

constexpr size_t kLargestBody = 8 << 20;
// Contexts of a sandbox that clients without its token may make.
constexpr size_t kMostWithoutToken = 8;

// Errors are plain text here. The clients show the text of a 404 and a 502, and of others the first
// line of the answer alone.
Reply say(Exchange& exchange, int status, std::string text) {
  if (status >= 400) exchange.set_reason(text);
  return Reply::text(status, "text/plain; charset=utf-8", std::move(text));
}

// The connection to the guest broke, or the sandbox was paused or ended.
bool is_guest_gone(const Error& error) {
  return error.kind == Kind::unavailable || error.kind == Kind::canceled;
}

// The message and what to do about it, without secrets.
std::string words_of(const Call& call, const Error& error) {
  std::string text = error.message;
  if (!error.hint.empty()) text += cat(" (", error.hint, ")");
  return call.redaction ? redact::redacted(*call.redaction, text) : text;
}

// What the code interpreter answers when something fails. A sandbox that is gone is a 502, which
// clients take for its end.
Reply say_error(Call& call, const Error& error) {
  bool gone = error.code == Code::conflict || is_guest_gone(error);
  note_failure(call, error);
  return say(call.exchange, gone ? 502 : http_status(error), words_of(call, error));
}

// Where code is to run, and the code.
struct ExecuteRequest {
  Interpreter::Where where;
  code::CellRequest cell;
};

// In the words of the clients' own validation, which is answered with 422.
Error wrong(const std::string& field, const std::string& what) {
  return Error{Code::invalid, cat(field, ": Input should be ", what), "", Kind::malformed};
}

// A text that may be missing or null.
Result<std::string> valid_text(const Value& body, const std::string& field) {
  const Value* value = body.find(field);
  if (!value || value->is_null()) return std::string();
  if (!value->as_string()) return wrong(field, "a valid string");
  return *value->as_string();
}

// The body of POST /execute.
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
Reply say_as_event(Call& call, const Error& error) {
  note_failure(call, error);
  std::string text = words_of(call, error);
  Value event = Value::Object{
      {"type", "error"}, {"name", "KernelNotStarted"}, {"value", text}, {"traceback", text}};
  return Reply::text(200, "application/x-ndjson",
                     cat(to_json(event), "\n{\"type\":\"end_of_execution\"}\n"));
}

// One request to the code interpreter of a sandbox.
struct Session : Contexts {
  bool trusted = false;  // the sandbox's token was shown
};

// Runs a cell and streams what happens in it.
Task<Result<Reply>> execute(Session& session) {
  CO_TRY(Value body, co_await session.inside.exchange().read_json(kLargestBody));
  CO_TRY(ExecuteRequest asked, read_execute(body));
  Recorded recorded(session.inside.call.manager, session.inside.call.caller,
                    session.inside.sandbox);
  CO_TRY_VOID(
      co_await recorded.start_code(asked.cell.code, asked.where.language, asked.where.context));
  Result<std::shared_ptr<Cell>> cell =
      co_await session.interpreter->run(asked.where, std::move(asked.cell));
  if (!cell) {
    const Error& error = cell.error();
    recorded.not_started(error);
    // A context that is not there, or a sandbox that is gone, has a status that clients know.
    bool known = error.code == Code::not_found || error.code == Code::conflict ||
                 is_guest_gone(error) || error.kind == Kind::unrecorded;
    if (known) co_return error;
    co_return say_as_event(session.inside.call, error);
  }
  std::shared_ptr<Cell> begun = cell.value();
  co_await stream_cell(session.inside.call, begun);
  end_record(recorded, *begun);
  co_return Reply::sent();
}

// Makes a context. Clients that do not show the sandbox's token can have a few of them.
Task<Result<Reply>> create_context(Session& session) {
  CO_TRY(Value body, co_await session.inside.exchange().read_json());
  CO_TRY(std::string language, valid_text(body, "language"));
  CO_TRY(std::string cwd, valid_text(body, "cwd"));
  if (!session.trusted && session.interpreter->contexts().size() >= kMostWithoutToken)
    co_return Error{Code::exhausted,
                    cat("make a context: without the access token a sandbox has ",
                        kMostWithoutToken, " at most"),
                    "remove some"};
  CO_TRY(ContextInfo made, co_await session.create(language, cwd));
  co_return Reply::json(200, describe(made));
}

// All contexts, in the order of their creation.
Task<Result<Reply>> list_contexts(Session& session) {
  Value::Array list;
  for (const ContextInfo& info : session.interpreter->contexts()) list.push_back(describe(info));
  co_return Reply::json(200, std::move(list));
}

// Restarts or removes a context; clients look at the status only, and get null.
Task<Result<Reply>> change_context(Session& session, std::string id, Contexts::Change change) {
  CO_TRY_VOID(co_await session.change(std::move(id), change));
  co_return Reply::json(200, Value());
}

// Finds the handler by path and method.
Task<Result<Reply>> serve(Session& session, std::vector<std::string> parts) {
  const std::string& method = session.inside.exchange().head().method;
  bool executes = parts[0] == "execute";
  std::string id = parts.size() > 1 ? percent_decode(parts[1]) : "";
  Result<Reply> reply = say(session.inside.exchange(), 405, "Method Not Allowed");
  if (executes && method == "POST")
    reply = co_await execute(session);
  else if (!executes && parts.size() == 1 && method == "POST")
    reply = co_await create_context(session);
  else if (!executes && parts.size() == 1 && method == "GET")
    reply = co_await list_contexts(session);
  else if (!executes && parts.size() == 2 && method == "DELETE")
    reply = co_await change_context(session, id, Contexts::Change::remove);
  else if (!executes && parts.size() == 3 && parts[2] == "restart" && method == "POST")
    reply = co_await change_context(session, id, Contexts::Change::restart);
  co_return reply;
}

}  // namespace

Value describe(const ContextInfo& info) {
  return Value::Object{{"id", info.id}, {"language", info.language}, {"cwd", info.cwd}};
}

Task<Result<ContextInfo>> Contexts::create(std::string language, std::string cwd) {
  CO_TRY(std::string name, code::language_of(language.empty() ? "python" : language));
  Value data = Value::Object{{"act", "create"}, {"language", name}, {"cwd", cwd}};
  CO_TRY_VOID(co_await record_doing(inside, "code.context", std::move(data)));
  Result<ContextInfo> made = co_await interpreter->create(std::move(language), std::move(cwd));
  co_return made;
}

Task<Result<void>> Contexts::change(std::string id, Change change) {
  std::vector<ContextInfo> all = interpreter->contexts();
  auto found =
      std::find_if(all.begin(), all.end(), [&](const ContextInfo& info) { return info.id == id; });
  if (found != all.end()) {
    Value data = Value::Object{{"act", change == Change::restart ? "restart" : "remove"},
                               {"context", id},
                               {"language", found->language}};
    CO_TRY_VOID(co_await record_doing(inside, "code.context", std::move(data)));
  }
  Result<void> done;
  if (change == Change::restart)
    done = co_await interpreter->restart(std::move(id));
  else
    done = co_await interpreter->remove(std::move(id));
  co_return done;
}

Task<Reply> serve_code_interpreter(Call& call, std::shared_ptr<manager::Sandbox> sandbox) {
  Exchange& exchange = call.exchange;
  const std::string path = exchange.path(), method = exchange.head().method;
  bool looks = method == "GET" || method == "HEAD";
  if (path == "/health" && looks) co_return Reply::json(200, "OK");
  std::vector<std::string> parts = split(std::string_view(path).substr(path.empty() ? 0 : 1), '/');
  bool executes = path == "/execute";
  if (!executes && parts[0] != "contexts") co_return say(exchange, 404, "Not Found");
  // The clients show it with /execute alone; for the rest the id of the sandbox must do (and the
  // traffic token, where there is one).
  const char* why_not = sandbox->info().access_token.empty()
                            ? nullptr
                            : why_not_by_token(exchange, sandbox->info().access_token);
  bool may = !why_not || (!executes && looks) || call.server.take_try(exchange.peer());
  if (!may) co_return say(exchange, 429, "too many tries without a valid token");
  if (executes && why_not) {
    call.server.note_refused(call, 401, why_not);
    co_return say(exchange, 401, why_not);
  }
  io::Loop& loop = call.manager.loop();
  Result<std::shared_ptr<Interpreter>> interpreter = co_await Interpreter::of(sandbox, loop);
  if (!interpreter) co_return say_error(call, interpreter.error());
  SandboxCall inside{{sandbox, sandbox->guest()}, call, "", Plane::e2b};
  Session session{{std::move(inside), interpreter.value()}, !why_not};
  Result<Reply> reply = co_await serve(session, std::move(parts));
  co_return reply ? std::move(reply).value() : say_error(call, reply.error());
}

// ---- a cell as it runs

namespace {

constexpr io::Milliseconds kAtOnce = 100;  // a cell that ends so soon is answered in one piece
constexpr io::Milliseconds kKeepalive = 5'000;
constexpr char kAlive[] = "{\"type\":\"keepalive\"}\n";

// Stops the cell when its client is gone, however this ends.
struct CellListener {
  std::shared_ptr<Cell> cell;
  ~CellListener() { cell->abandon(); }
};

// Proxies must not collect the stream before they pass it on.
Headers stream_headers() {
  return {{"Content-Type", "application/x-ndjson"},
          {"X-Accel-Buffering", "no"},
          {"Cache-Control", "no-cache"}};
}

// The last line. It counts redactions only when there were some: clients know the line without
// them.
std::string end_line(const Cell& cell) {
  Value event = Value::Object{{"type", "end_of_execution"}};
  redact::Counts counts = cell.redacted();
  if (!counts.empty()) put_counts(counts, event);
  return to_json(event) + "\n";
}

}  // namespace

io::Task<void> stream_cell(Call& call, std::shared_ptr<Cell> cell) {
  Exchange& exchange = call.exchange;
  io::Loop& loop = call.manager.loop();
  CellListener listener{cell};
  exchange.on_client_gone([cell] { cell->abandon(); });
  Headers headers = stream_headers();
  Cell::News news = co_await cell->next(loop.now() + kAtOnce);
  if (news.kind == Cell::News::Kind::lines && cell->is_finished()) {
    Reply whole{200, std::move(headers), news.lines + end_line(*cell)};
    (void)co_await exchange.answer(std::move(whole));
    co_return;
  }
  bool there = co_await exchange.begin(200, std::move(headers));
  bool begun = false;
  while (there) {
    if (news.kind == Cell::News::Kind::end) break;
    std::string piece =
        news.kind == Cell::News::Kind::late ? (begun ? kAlive : "") : std::move(news.lines);
    begun = true;
    if (!piece.empty()) there = co_await exchange.write(piece);
    if (there) news = co_await cell->next(loop.now() + kKeepalive);
  }
  if (!there || cell->is_abandoned()) co_return;
  std::string last = end_line(*cell);
  there = co_await exchange.write(last);
  if (there) (void)co_await exchange.finish();
}

}  // namespace paddock::api
