#include "api/e2b/envd_process.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "api/native/command.h"
#include "base/base64.h"
#include "base/error_table.h"
#include "base/text.h"
#include "manager/ended_sandboxes.h"
#include "net/connect_rpc.h"
#include "run/result.h"

namespace paddock::api {
namespace {

using ItemKind = guest::Channel::Item::Kind;

constexpr size_t kLargestInput = 16 << 20;
constexpr size_t kLargestStart = 768 << 10;  // of the guest's request, which is one frame
// The code interpreter's own processes are not shown.
constexpr std::string_view kKernelTag = "paddock-kernel/";

Error invalid(std::string message) { return Error{Code::invalid, std::move(message)}; }

// Puts the process that a selector means into a request to the guest.
Result<void> select(const Value& message, Value& request) {
  const Value* selector = field(message, "process");
  std::optional<int64_t> pid = selector ? number_field(*selector, "pid") : std::nullopt;
  std::string tag = selector ? text_field(*selector, "tag") : "";
  if (pid)
    request.set("pid", *pid);
  else if (!tag.empty())
    request.set("tag", tag);
  else
    return invalid("select a process: neither a pid nor a tag was given");
  return {};
}

// {"rows","columns"} for the guest.
Result<Value> terminal_size(const Value& pty) {
  const Value* size = field(pty, "size");
  int64_t columns = size ? number_field(*size, "cols").value_or(0) : 0,
          rows = size ? number_field(*size, "rows").value_or(0) : 0;
  if (columns < 0 || rows < 0 || columns > 65535 || rows > 65535)
    return invalid("set the size of the terminal: not between 0 and 65535");
  return Value(Value::Object{{"rows", rows}, {"columns", columns}});
}

// The guest's request to start what StartRequest asks for.
Result<Value> start_request(const Envd& envd, const Value& message,
                            std::optional<int64_t> timeout) {
  const Value* process = field(message, "process");
  std::string command = process ? text_field(*process, "cmd") : "";
  if (command.empty()) return invalid("start a process: no command was given");
  Value::Array argv{command};
  const Value* arguments = field(*process, "args");
  if (arguments && arguments->as_array())
    for (const Value& argument : *arguments->as_array()) {
      if (!argument.as_string()) return invalid("start a process: an argument is not a string");
      argv.push_back(argument);
    }
  Value request = guest_request(envd, "start");
  request.set("argv", std::move(argv));
  if (const Value* environment = field(*process, "envs"); environment && environment->as_object())
    request.set("env", *environment);
  if (std::string cwd = text_field(*process, "cwd"); !cwd.empty()) request.set("cwd", cwd);
  if (std::string tag = text_field(message, "tag"); !tag.empty()) request.set("tag", tag);
  if (const Value* pty = field(message, "pty"))
    request.set("terminal", TRY(terminal_size(*pty)));
  else
    request.set("stdin", bool_field(message, "stdin", true));
  if (timeout && *timeout > 0) request.set("timeout_ms", *timeout);
  if (to_json(request).size() > kLargestStart)
    return Error{Code::exhausted, "start a process: its arguments and environment are too long"};
  return request;
}

// One piece of output as an event, written without a Value in between: this is the busy path.
std::string data_event(uint8_t stream, std::string_view bytes) {
  const char* name = stream == guest::kErrors     ? "stderr"
                     : stream == guest::kTerminal ? "pty"
                                                  : "stdout";
  return cat("{\"event\":{\"data\":{\"", name, "\":\"", base64(bytes), "\"}}}");
}

// The outcome of a limit in words, as the command line has them.
std::string limit_words_of(const Value& outcome) {
  LimitHit hit{};
  return from_field(outcome, hit) ? manager::limit_words(hit) : text_field(outcome, "limit");
}

// The guest refused it, or its sandbox is gone.
Error why_failed(const Envd& envd, const Tie& tie, const Error& error) {
  if (!tie.sandbox_is_gone() && !envd.guest->is_gone()) return error;
  // A limit that ended the whole sandbox is told; otherwise clients take a connection that breaks
  // for its end.
  std::optional<LimitHit> hit = envd.sandbox->info().ended_by;
  if (!hit) return make_error(Kind::gone, "The sandbox was not found");
  return make_error(Kind::aborted, cat("the sandbox was stopped: ", manager::limit_words(*hit)));
}

// The last events of a process: by which limit it ended, and how.
io::Task<Result<Reply>> tell_end(RpcStream& stream, const Command::News& news, bool has_terminal) {
  if (flag_in(news.result, "timed_out"))
    co_return make_error(Kind::deadline_exceeded, "the deadline of the request was reached");
  const Value& outcome = *news.outcome;
  std::string limit = text_field(outcome, "kind") == "limit" ? limit_words_of(outcome) : "";
  bool there = true;
  // Clients show this beside the exit code, and no other text.
  if (!limit.empty() && !has_terminal) {
    std::string json =
        data_event(guest::kErrors, cat("paddock: stopped by a limit: ", limit, "\n"));
    there = co_await stream.send_json(std::move(json));
  }
  Value last = Value::Object{{"event", Value::Object{{"end", end_event(news.result, limit)}}}};
  if (there) there = co_await stream.send(std::move(last));
  if (there) co_await stream.end();
  co_return Reply::sent();
}

// Start and Connect: events until the process ends, the client goes or the deadline comes.
io::Task<Result<Reply>> stream_events(Envd& envd, Command& command, Value request,
                                      io::Milliseconds deadline) {
  Tie tie(envd, command.channel());
  Result<void> started = co_await command.started(deadline);
  if (!started) {
    Error error = why_failed(envd, tie, started.error());
    if (error.kind != Kind::gone) command.not_started(error);
    co_return error;
  }
  RpcStream stream(envd);
  std::string json = cat("{\"event\":{\"start\":{\"pid\":", command.pid(), "}}}");
  if (const Value* argv = request.find("argv"))
    envd.sandbox->add_log("command", Value::Object{{"pid", command.pid()}, {"argv", *argv}});
  bool has_terminal = request.find("terminal") != nullptr;
  request = Value();
  bool there = co_await stream.send_json(std::move(json));
  io::Loop& loop = envd.call.manager.loop();
  io::Milliseconds interval = keepalive_interval(envd.exchange);
  while (there) {
    io::Milliseconds until = std::min(deadline, loop.now() + interval);
    Command::News news = co_await command.next(until);
    if (news.kind == Command::News::Kind::failed) co_return why_failed(envd, tie, news.error);
    if (news.kind == Command::News::Kind::ended) {
      Result<Reply> reply = co_await tell_end(stream, news, has_terminal);
      co_return reply;
    }
    if (news.kind == Command::News::Kind::late && loop.now() >= deadline)
      co_return make_error(Kind::deadline_exceeded, "the deadline of the request was reached");
    json = news.kind == Command::News::Kind::output ? data_event(news.stream, news.bytes)
                                                    : "{\"event\":{\"keepalive\":{}}}";
    there = co_await stream.send_json(std::move(json));
  }
  co_return Reply::sent();
}

// Starts a process and streams its events.
io::Task<Result<Reply>> start(Envd& envd, Value message) {
  CO_TRY(std::optional<int64_t> timeout,
         net::parse_connect_timeout(envd.exchange.header("Connect-Timeout-Ms")));
  CO_TRY(Value request, start_request(envd, message, timeout));
  message = Value();  // parsed, it is many times its size, and the stream may live long
  Command command(envd.call, RunningSandbox{envd.sandbox, envd.guest});
  CO_TRY_VOID(co_await command.open(request, "envd"));
  // Its time is the guest's to watch.
  Result<Reply> reply =
      co_await stream_events(envd, command, std::move(request), io::Wait::kForever);
  co_return reply;
}

// Streams the events of a process that runs, until the deadline.
io::Task<Result<Reply>> connect(Envd& envd, Value message) {
  CO_TRY(std::optional<int64_t> timeout,
         net::parse_connect_timeout(envd.exchange.header("Connect-Timeout-Ms")));
  Value request = Value::Object{{"op", "attach"}};
  CO_TRY_VOID(select(message, request));
  message = Value();
  io::Milliseconds deadline =
      timeout && *timeout > 0 ? envd.call.manager.loop().now() + *timeout : io::Wait::kForever;
  Command command(envd.call, RunningSandbox{envd.sandbox, envd.guest});
  CO_TRY_VOID(co_await command.open(request, "envd"));
  Result<Reply> reply = co_await stream_events(envd, command, std::move(request), deadline);
  co_return reply;
}

// A process as ListResponse has it.
Value process_entry(const Value& process) {
  Value::Object config;
  Value::Array arguments;
  const Value* argv = process.find("argv");
  if (argv && argv->as_array() && !argv->as_array()->empty()) {
    config.emplace_back("cmd", argv->as_array()->front());
    arguments.assign(argv->as_array()->begin() + 1, argv->as_array()->end());
  }
  config.emplace_back("args", std::move(arguments));
  if (const Value* environment = process.find("env"); environment && environment->as_object())
    config.emplace_back("envs", *environment);
  if (std::string cwd = text_field(process, "cwd"); !cwd.empty()) config.emplace_back("cwd", cwd);
  Value entry = Value::Object{{"config", std::move(config)},
                              {"pid", number_field(process, "pid").value_or(0)}};
  if (std::string tag = text_field(process, "tag"); !tag.empty()) entry.set("tag", tag);
  return entry;
}

io::Task<Result<Reply>> list(Envd& envd, Value) {
  Value request = Value::Object{{"op", "processes"}};
  CO_TRY(Value answer, co_await ask_guest(envd, request));
  Value::Array processes;
  const Value* list = answer.find("processes");
  if (list && list->as_array())
    for (const Value& process : *list->as_array())
      if (!starts_with(text_field(process, "tag"), kKernelTag))
        processes.push_back(process_entry(process));
  Value shown = redact::redacted(*envd.sandbox->redaction(), Value(std::move(processes)));
  co_return Reply::json(200, Value::Object{{"processes", std::move(shown)}});
}

io::Task<Result<Reply>> send_signal(Envd& envd, Value message) {
  Value request = Value::Object{{"op", "signal"}};
  CO_TRY_VOID(select(message, request));
  std::string signal = text_field(message, "signal");
  std::optional<int64_t> number = number_field(message, "signal");
  if (signal == "SIGNAL_SIGKILL" || number == 9)
    request.set("signal", "SIGKILL");
  else if (signal == "SIGNAL_SIGTERM" || number == 15)
    request.set("signal", "SIGTERM");
  else
    co_return Error{Code::unsupported, cat("invalid signal: ", printable(signal))};
  Value fields = signal_fields(request);
  CO_TRY_VOID(co_await record_doing(envd.call, envd.sandbox, "command.signal", std::move(fields)));
  CO_TRY_VOID(co_await ask_guest(envd, request));
  co_return Reply::json(200, Value::Object{});
}

io::Task<Result<Reply>> close_stdin(Envd& envd, Value message) {
  Value request = Value::Object{{"op", "close_stdin"}};
  CO_TRY_VOID(select(message, request));
  CO_TRY_VOID(co_await ask_guest(envd, request));
  note_input(envd.call, *envd.sandbox, request, 0, true);
  co_return Reply::json(200, Value::Object{});
}

// Changes the size of a terminal.
io::Task<Result<Reply>> update(Envd& envd, Value message) {
  Value request = Value::Object{{"op", "resize"}};
  CO_TRY_VOID(select(message, request));
  if (const Value* pty = field(message, "pty")) {
    CO_TRY(Value size, terminal_size(*pty));
    request.set("rows", *size.find("rows"));
    request.set("columns", *size.find("columns"));
  }
  CO_TRY_VOID(co_await ask_guest(envd, request));
  co_return Reply::json(200, Value::Object{});
}

io::Task<Result<Reply>> send_input(Envd& envd, Value message) {
  Value request = Value::Object{{"op", "input"}};
  CO_TRY_VOID(select(message, request));
  const Value* input = field(message, "input");
  const Value* text = input ? field(*input, "stdin") : nullptr;
  bool terminal = input && !text && field(*input, "pty");
  if (terminal) text = field(*input, "pty");
  if (!text || !text->as_string())
    co_return Error{Code::unsupported, "send input: neither stdin nor pty was given"};
  Result<std::string> bytes = from_base64(*text->as_string());
  if (!bytes) co_return invalid("send input: not base64");
  message = Value();
  request.set("terminal", terminal);
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  std::string_view data = bytes.value();
  bool taken = co_await channel->send(data);
  if (taken) channel->end_input();
  guest::Channel::Item item;
  do {
    item = co_await channel->next();
  } while (item.kind != ItemKind::end && item.kind != ItemKind::failed);
  if (item.kind == ItemKind::failed) co_return guest_error(envd, tie, item);
  note_input(envd.call, *envd.sandbox, request, data.size());
  co_return Reply::json(200, Value::Object{});
}

constexpr Method kMethods[] = {{"Start", start, true},
                               {"Connect", connect, true},
                               {"List", list},
                               {"SendSignal", send_signal},
                               {"CloseStdin", close_stdin},
                               {"Update", update},
                               {"SendInput", send_input, false, kLargestInput}};

// sigdescr_np(3) has the same words as Go, with a capital letter in front.
std::string signal_words(int number) {
  const char* description = sigdescr_np(number);
  if (!description) return cat("signal ", number);
  std::string words = description;
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  return words;
}

// From a number, "SIGKILL" or "KILL"; 0 when it is unknown.
int signal_number(const Value& signal) {
  if (const int64_t* number = signal.as_int()) return static_cast<int>(*number);
  const std::string* name = signal.as_string();
  if (!name) return 0;
  std::string_view bare =
      starts_with(*name, "SIG") ? std::string_view(*name).substr(3) : std::string_view(*name);
  for (int number = 1; number < NSIG; number++) {
    const char* abbreviation = sigabbrev_np(number);
    if (abbreviation && bare == abbreviation) return number;
  }
  return 0;
}

}  // namespace

Value end_event(const Value& result, const std::string& limit) {
  auto error = [&](const std::string& words) {
    return limit.empty() ? words : cat(limit, ": ", words);
  };
  Value::Object event;
  if (const Value* signal = result.find("signal")) {
    std::string words = cat("signal: ", signal_words(signal_number(*signal)));
    event = {{"exitCode", -1}, {"exited", false}, {"status", words}, {"error", error(words)}};
    return event;
  }
  const Value* code = result.find("code");
  int64_t number = code && code->as_int() ? *code->as_int() : -1;
  std::string words = cat("exit status ", number);
  event = {{"exitCode", number}, {"exited", true}, {"status", words}};
  if (number != 0) event.emplace_back("error", error(words));
  return event;
}

io::Task<Reply> serve_process(Envd& envd, std::string method) {
  return serve_method(envd, "process.Process", kMethods, std::move(method));
}

}  // namespace paddock::api
