#include "api/e2b/envd_services.h"

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

constexpr size_t kLargestInput = 16 << 20;
constexpr size_t kLargestStart = 768 << 10;  // of the guest's request, which is one frame
// The code interpreter's own processes are not shown.
constexpr std::string_view kKernelTag = "paddock-kernel/";

Error invalid(std::string message) { return Error{Code::invalid, std::move(message)}; }

// Puts the process that a selector means into a request to the guest.
template <class Request>
Result<void> select(const Value& message, Request& request) {
  const Value* selector = field(message, "process");
  request.pid = selector ? number_field(*selector, "pid") : std::nullopt;
  std::string tag = selector ? text_field(*selector, "tag") : "";
  if (!request.pid && tag.empty())
    return invalid("select a process: neither a pid nor a tag was given");
  if (!request.pid) request.tag = tag;
  return {};
}

// Reads "size" of a terminal into a request to the guest.
template <class Request>
Result<void> read_size(const Value& pty, Request& request) {
  const Value* size = field(pty, "size");
  request.columns = size ? number_field(*size, "cols").value_or(0) : 0;
  request.rows = size ? number_field(*size, "rows").value_or(0) : 0;
  for (int64_t length : {request.columns, request.rows})
    if (length < 0 || length > 65535)
      return invalid("set the size of the terminal: not between 0 and 65535");
  return {};
}

// The guest's request to start what StartRequest asks for.
Result<guest::StartRequest> start_request(const SandboxCall& envd, const Value& message,
                                          std::optional<int64_t> timeout) {
  const Value* process = field(message, "process");
  std::string command = process ? text_field(*process, "cmd") : "";
  if (command.empty()) return invalid("start a process: no command was given");
  guest::StartRequest request{.cwd = text_field(*process, "cwd"),
                              .user = envd.user,
                              .tag = text_field(message, "tag"),
                              .timeout_ms = std::max<int64_t>(0, timeout.value_or(0))};
  if (const Value* arguments = field(*process, "args"); arguments && arguments->as_array())
    if (!from_field(*arguments, request.argv))
      return invalid("start a process: an argument is not a string");
  request.argv.insert(request.argv.begin(), command);
  if (const Value* variables = field(*process, "envs"); variables && variables->as_object())
    if (!from_field(*variables, request.env))
      return invalid("start a process: a variable is not a string");
  if (const Value* pty = field(message, "pty"))
    TRY(read_size(*pty, request.terminal.emplace()));
  else
    request.wants_input = bool_field(message, "stdin", true);
  if (to_json(guest::to_value(request)).size() > kLargestStart)
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
Error why_failed(const SandboxCall& envd, const GuestChannel& channel, const Error& error) {
  if (!channel.sandbox_is_gone() && !envd.guest->is_gone()) return error;
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

// Start and Connect: events until the process ends, the client goes or the deadline comes. `start`:
// what was started; null for a process that was running before.
io::Task<Result<Reply>> stream_events(SandboxCall& envd, Command& command,
                                      std::optional<guest::StartRequest> start,
                                      io::Milliseconds deadline) {
  GuestChannel channel(envd, command.channel());
  Result<void> started = co_await command.started(deadline);
  if (!started) {
    Error error = why_failed(envd, channel, started.error());
    if (error.kind != Kind::gone) command.not_started(error);
    co_return error;
  }
  if (start) command.log(*start);
  bool has_terminal = start && start->terminal;
  start.reset();  // the stream may live long
  RpcStream stream(envd);
  std::string json = cat("{\"event\":{\"start\":{\"pid\":", command.pid(), "}}}");
  bool there = co_await stream.send_json(std::move(json));
  io::Loop& loop = envd.loop();
  io::Milliseconds interval = keepalive_interval(envd.exchange());
  while (there) {
    io::Milliseconds until = std::min(deadline, loop.now() + interval);
    Command::News news = co_await command.next(until);
    if (news.kind == Command::News::Kind::failed) co_return why_failed(envd, channel, news.error);
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
io::Task<Result<Reply>> start(SandboxCall& envd, Value message) {
  CO_TRY(std::optional<int64_t> timeout,
         net::parse_connect_timeout(envd.exchange().header("Connect-Timeout-Ms")));
  CO_TRY(std::optional<guest::StartRequest> request, start_request(envd, message, timeout));
  message = Value();  // parsed, it is many times its size, and the stream may live long
  Command command(envd);
  CO_TRY_VOID(co_await command.start(*request, "envd"));
  // Its time is the guest's to watch.
  Result<Reply> reply =
      co_await stream_events(envd, command, std::move(request), io::Wait::kForever);
  co_return reply;
}

// Streams the events of a process that runs, until the deadline.
io::Task<Result<Reply>> connect(SandboxCall& envd, Value message) {
  CO_TRY(std::optional<int64_t> timeout,
         net::parse_connect_timeout(envd.exchange().header("Connect-Timeout-Ms")));
  guest::AttachRequest request;
  CO_TRY_VOID(select(message, request));
  message = Value();
  io::Milliseconds deadline =
      timeout && *timeout > 0 ? envd.loop().now() + *timeout : io::Wait::kForever;
  Command command(envd);
  command.attach(request);
  std::optional<guest::StartRequest> nothing;
  Result<Reply> reply = co_await stream_events(envd, command, std::move(nothing), deadline);
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

// The processes that were started through the server and still run.
io::Task<Result<Reply>> list(SandboxCall& envd, Value) {
  Value request = guest::to_value(guest::ProcessesRequest{});
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

// SIGKILL or SIGTERM: the protocol has no other. Recorded before it is sent.
io::Task<Result<Reply>> send_signal(SandboxCall& envd, Value message) {
  guest::SignalRequest request;
  CO_TRY_VOID(select(message, request));
  std::string signal = text_field(message, "signal");
  std::optional<int64_t> number = number_field(message, "signal");
  if (signal == "SIGNAL_SIGKILL" || number == 9)
    request.signal = "SIGKILL";
  else if (signal == "SIGNAL_SIGTERM" || number == 15)
    request.signal = "SIGTERM";
  else
    co_return Error{Code::unsupported, cat("invalid signal: ", printable(signal))};
  Value asked = guest::to_value(request);
  CO_TRY_VOID(co_await record_signal(envd, asked));
  CO_TRY_VOID(co_await ask_guest(envd, asked));
  co_return Reply::json(200, Value::Object{});
}

// Closes the stdin of a process, which then reads its end.
io::Task<Result<Reply>> close_stdin(SandboxCall& envd, Value message) {
  guest::CloseInputRequest request;
  CO_TRY_VOID(select(message, request));
  Value asked = guest::to_value(request);
  CO_TRY_VOID(co_await ask_guest(envd, asked));
  note_input(envd, asked, 0, true);
  co_return Reply::json(200, Value::Object{});
}

// Changes the size of a terminal.
io::Task<Result<Reply>> update(SandboxCall& envd, Value message) {
  guest::ResizeRequest request;
  CO_TRY_VOID(select(message, request));
  if (const Value* pty = field(message, "pty")) CO_TRY_VOID(read_size(*pty, request));
  Value asked = guest::to_value(request);
  CO_TRY_VOID(co_await ask_guest(envd, asked));
  co_return Reply::json(200, Value::Object{});
}

// Writes to the stdin or the terminal of a process, and waits until it has been taken.
io::Task<Result<Reply>> send_input(SandboxCall& envd, Value message) {
  guest::InputRequest request;
  CO_TRY_VOID(select(message, request));
  const Value* input = field(message, "input");
  const Value* text = input ? field(*input, "stdin") : nullptr;
  request.terminal = input && !text && field(*input, "pty");
  if (request.terminal) text = field(*input, "pty");
  if (!text || !text->as_string())
    co_return Error{Code::unsupported, "send input: neither stdin nor pty was given"};
  Result<std::string> bytes = from_base64(*text->as_string());
  if (!bytes) co_return invalid("send input: not base64");
  message = Value();
  Value asked = guest::to_value(request);
  GuestChannel channel(envd, asked);
  std::string_view data = bytes.value();
  bool taken = co_await channel->send(data);
  if (taken) channel->end_input();
  CO_TRY_VOID(co_await channel.result());
  note_input(envd, asked, data.size());
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

io::Task<Reply> serve_process(SandboxCall& envd, std::string method) {
  return serve_method(envd, "process.Process", kMethods, std::move(method));
}

}  // namespace paddock::api
