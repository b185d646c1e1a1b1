#include "api/envd_process.h"

#include <algorithm>

#include "api/data_events.h"
#include "api/envd_process_end.h"
#include "api/exec_request.h"
#include "base/base64.h"
#include "base/text.h"
#include "manager/ended_sandboxes.h"
#include "net/connect_rpc.h"
#include "run/result.h"

namespace paddock::api {
namespace {

using Kind = guest::Channel::Item::Kind;

constexpr size_t kLargestMessage = 1 << 20, kLargestInput = 16 << 20;
constexpr size_t kLargestStart = 768 << 10;  // of the guest's request, which is one frame
// The code interpreter's own processes are not shown.
constexpr std::string_view kKernelTag = "paddock-kernel/";

Error invalid(std::string message) {
  return Error{Code::invalid, std::move(message), "invalid_argument"};
}

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

Result<Value> terminal_size(const Value& pty) {
  const Value* size = field(pty, "size");
  int64_t columns = size ? number_field(*size, "cols").value_or(0) : 0,
          rows = size ? number_field(*size, "rows").value_or(0) : 0;
  if (columns < 0 || rows < 0 || columns > 65535 || rows > 65535)
    return invalid("set the size of the terminal: not between 0 and 65535");
  return Value(Value::Object{{"rows", rows}, {"columns", columns}});
}

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
    return Error{Code::exhausted, "start a process: its arguments and environment are too long",
                 "resource_exhausted"};
  return request;
}

// One piece of output as an event, written without a Value in between: this is the busy path.
std::string data_event(uint8_t stream, std::string_view bytes) {
  const char* name = stream == guest::kErrors     ? "stderr"
                     : stream == guest::kTerminal ? "pty"
                                                  : "stdout";
  return cat("{\"event\":{\"data\":{\"", name, "\":\"", base64(bytes), "\"}}}");
}

Error deadline_exceeded() {
  return Error{Code::io, "the deadline of the request was reached", "deadline_exceeded"};
}

// What was held back goes before the end.
io::Task<bool> send_rest(RpcStream& stream, OutputRedaction& redaction) {
  for (const OutputRedaction::Rest& rest : redaction.finish()) {
    std::string json = data_event(rest.stream, rest.bytes);
    bool sent = co_await stream.send_json(std::move(json));
    if (!sent) co_return false;
  }
  co_return true;
}

// The outcome of a limit in words, as the command line has them.
std::string limit_words_of(const Value& outcome) {
  LimitHit hit{};
  return from_field(outcome, hit) ? manager::limit_words(hit) : text_field(outcome, "limit");
}

// A limit that ended the whole sandbox is told; otherwise clients take a connection that breaks for
// its end.
io::Task<void> end_with_sandbox(Envd& envd, RpcStream& stream) {
  std::optional<LimitHit> hit = envd.sandbox->info().ended_by;
  if (!hit) {
    co_await answer_gone(envd.exchange, envd.sandbox->info().id);
    co_return;
  }
  Error error{Code::conflict, cat("the sandbox was stopped: ", manager::limit_words(*hit)),
              "aborted"};
  co_await stream.fail(error);
}

// Start and Connect: events until the process ends, the client goes or the deadline comes.
io::Task<void> stream_events(Envd& envd, Value request, Recorded& recorded,
                             std::optional<int64_t> timeout) {
  RpcStream stream(envd);
  io::Loop& loop = envd.call.manager.loop();
  OutputRedaction redaction(envd.sandbox->redaction());
  io::Milliseconds interval = keepalive_interval(envd.exchange);
  io::Milliseconds deadline = timeout && *timeout > 0 ? loop.now() + *timeout : io::Wait::kForever;
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  bool started = false, typing = false;
  int64_t time_limit = number_field(request, "timeout_ms").value_or(0);
  bool has_terminal = request.find("terminal") != nullptr;
  while (true) {
    io::Milliseconds until =
        std::min(deadline, loop.now() + (typing ? OutputRedaction::kTypingMs : interval));
    guest::Channel::Item item = co_await channel->next(until);
    bool gone = tie.sandbox_is_gone() || (item.kind == Kind::failed && envd.guest->is_gone());
    if (gone) {
      RunningSandbox inside{envd.sandbox, envd.guest};
      std::optional<Value> outcome =
          co_await manager::limit_that_ended(envd.call.manager, inside, item.error);
      if (outcome) recorded.end(*outcome, redaction.counts());
      co_await end_with_sandbox(envd, stream);
      co_return;
    }
    if (item.kind == Kind::end) {
      bool there = co_await send_rest(stream, redaction);
      RunningSandbox inside{envd.sandbox, envd.guest};
      Value outcome = co_await outcome_of(envd.call.manager, inside, item.value, time_limit);
      std::string limit = text_field(outcome, "kind") == "limit" ? limit_words_of(outcome) : "";
      recorded.end(std::move(outcome), redaction.counts());
      if (!there) co_return;
      if (bool_field(item.value, "timed_out", false)) {
        Error error = deadline_exceeded();
        co_await stream.fail(error);
        co_return;
      }
      // Clients show this beside the exit code, and no other text.
      if (!limit.empty() && !has_terminal) {
        std::string json =
            data_event(guest::kErrors, cat("paddock: stopped by a limit: ", limit, "\n"));
        bool told = co_await stream.send_json(std::move(json));
        if (!told) co_return;
      }
      Value last = Value::Object{{"event", Value::Object{{"end", end_event(item.value, limit)}}}};
      bool sent = co_await stream.send(std::move(last));
      if (sent) co_await stream.end();
      co_return;
    }
    if (item.kind == Kind::failed) {
      Error error = guest_error(envd, tie, item);
      if (!started) recorded.not_started(error);
      co_await stream.fail(error);
      co_return;
    }
    if (item.kind == Kind::late && loop.now() >= deadline) {
      Error error = deadline_exceeded();
      co_await stream.fail(error);
      co_return;
    }
    std::string json = "{\"event\":{\"keepalive\":{}}}";
    if (item.kind == Kind::data) {
      recorded.count(item.stream, item.bytes.size());
      std::string shown = redaction.feed(item.stream, item.bytes);
      typing = redaction.holds_typing();
      if (shown.empty()) continue;
      json = data_event(item.stream, shown);
    } else if (item.kind == Kind::late && std::exchange(typing, false)) {
      std::string shown = redaction.show_typing();
      if (shown.empty()) continue;
      json = data_event(guest::kTerminal, shown);
    } else if (item.kind == Kind::message) {
      std::optional<int64_t> pid = number_field(item.value, "pid");
      if (started || !pid) continue;
      started = true;
      recorded.runs_as(envd.guest, *pid, time_limit);
      json = cat("{\"event\":{\"start\":{\"pid\":", *pid, "}}}");
      if (const Value* argv = request.find("argv"))
        envd.sandbox->add_log("command", Value::Object{{"pid", *pid}, {"argv", *argv}});
      request = Value();
    } else if (!started) {
      continue;  // the first event must be the start
    }
    bool sent = co_await stream.send_json(std::move(json));
    if (!sent) co_return;
  }
}

io::Task<void> start_or_connect(Envd& envd, bool start) {
  RpcStream stream(envd);
  std::optional<Value> message = co_await read_message(envd, true);
  if (!message) co_return;
  Result<std::optional<int64_t>> timeout =
      net::parse_connect_timeout(envd.exchange.header("Connect-Timeout-Ms"));
  if (!timeout) {
    co_await stream.fail(timeout.error());
    co_return;
  }
  Value request = Value::Object{{"op", "attach"}};
  Result<void> good;
  if (start) {
    Result<Value> made = start_request(envd, *message, timeout.value());
    if (made)
      request = made.value();
    else
      good = made.error();
  } else {
    good = select(*message, request);
  }
  if (!good) {
    co_await stream.fail(good.error());
    co_return;
  }
  message.reset();  // parsed, it is many times its size, and the stream may live long
  Recorded recorded(envd.call.manager, envd.call.caller, envd.sandbox);
  if (start) {
    Result<void> told = co_await recorded.start_command(request, "envd");
    if (!told) {
      Error error = unrecorded_rpc(told.error());
      co_await stream.fail(error);
      co_return;
    }
  }
  std::optional<int64_t> patience;
  if (!start) patience = timeout.value();
  co_await stream_events(envd, std::move(request), recorded, patience);
}

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

io::Task<void> list(Envd& envd) {
  Value request = Value::Object{{"op", "processes"}};
  Result<Value> answer = co_await ask_guest(envd, request);
  if (!answer) {
    co_await answer_rpc_error(envd, answer.error());
    co_return;
  }
  Value::Array processes;
  const Value* list = answer.value().find("processes");
  if (list && list->as_array())
    for (const Value& process : *list->as_array())
      if (!starts_with(text_field(process, "tag"), kKernelTag))
        processes.push_back(process_entry(process));
  Value body = Value::Object{
      {"processes", redact::redacted(*envd.sandbox->redaction(), Value(std::move(processes)))}};
  co_await answer_rpc(envd, body);
}

// What ends in "done" or an error, without anything to say.
io::Task<void> do_and_answer(Envd& envd, Value request) {
  if (request.find("signal")) {
    Value fields = signal_fields(request);
    Result<void> recorded =
        co_await record_doing(envd.call, envd.sandbox, "command.signal", std::move(fields));
    if (!recorded) {
      Error error = unrecorded_rpc(recorded.error());
      co_await answer_rpc_error(envd, error);
      co_return;
    }
  }
  Result<Value> answer = co_await ask_guest(envd, request);
  if (answer && text_field(request, "op") == "close_stdin")
    note_input(envd.call, *envd.sandbox, request, 0, true);
  if (answer) {
    Value empty = Value::Object{};
    co_await answer_rpc(envd, empty);
  } else {
    co_await answer_rpc_error(envd, answer.error());
  }
}

io::Task<Result<void>> send_input(Envd& envd, Value message) {
  Value request = Value::Object{{"op", "input"}};
  Result<void> selected = select(message, request);
  if (!selected) co_return selected.error();
  const Value* input = field(message, "input");
  const Value* text = input ? field(*input, "stdin") : nullptr;
  bool terminal = input && !text && field(*input, "pty");
  if (terminal) text = field(*input, "pty");
  if (!text || !text->as_string())
    co_return Error{Code::unsupported, "send input: neither stdin nor pty was given",
                    "unimplemented"};
  Result<std::string> bytes = from_base64(*text->as_string());
  if (!bytes) co_return invalid("send input: not base64");
  message = Value();
  request.set("terminal", terminal);
  std::shared_ptr<guest::Channel> channel = envd.guest->open(request);
  Tie tie(envd, channel);
  std::string_view data = bytes.value();
  bool taken = co_await channel->send(data);
  if (taken) channel->end_input();
  while (true) {
    guest::Channel::Item item = co_await channel->next();
    if (item.kind == Kind::end) {
      note_input(envd.call, *envd.sandbox, request, data.size());
      co_return Result<void>();
    }
    if (item.kind == Kind::failed) co_return guest_error(envd, tie, item);
  }
}

io::Task<void> input(Envd& envd, Value message) {
  Result<void> sent = co_await send_input(envd, std::move(message));
  if (sent) {
    Value empty = Value::Object{};
    co_await answer_rpc(envd, empty);
  } else {
    co_await answer_rpc_error(envd, sent.error());
  }
}

// SendSignal, CloseStdin and Update as the guest's requests.
Result<Value> small_request(const std::string& method, const Value& message) {
  Value request = Value::Object{{"op", method == "SendSignal"   ? "signal"
                                       : method == "CloseStdin" ? "close_stdin"
                                                                : "resize"}};
  TRY(select(message, request));
  if (method == "SendSignal") {
    std::string signal = text_field(message, "signal");
    std::optional<int64_t> number = number_field(message, "signal");
    if (signal == "SIGNAL_SIGKILL" || number == 9)
      request.set("signal", "SIGKILL");
    else if (signal == "SIGNAL_SIGTERM" || number == 15)
      request.set("signal", "SIGTERM");
    else
      return Error{Code::unsupported, cat("invalid signal: ", printable(signal)), "unimplemented"};
  }
  if (method == "Update") {
    const Value* pty = field(message, "pty");
    if (!pty) return request;
    Value size = TRY(terminal_size(*pty));
    request.set("rows", *size.find("rows"));
    request.set("columns", *size.find("columns"));
  }
  return request;
}

}  // namespace

io::Task<void> serve_process(Envd& envd, std::string method) {
  if (method == "Start" || method == "Connect") {
    bool start = method == "Start";
    co_await start_or_connect(envd, start);
    co_return;
  }
  bool small = method == "SendSignal" || method == "CloseStdin" || method == "Update";
  if (!small && method != "List" && method != "SendInput") {
    Error error{Code::unsupported,
                cat("process.Process/", printable(method), " is not implemented"), "unimplemented"};
    co_await answer_rpc_error(envd, error);
    co_return;
  }
  size_t most = method == "SendInput" ? kLargestInput : kLargestMessage;
  std::optional<Value> message = co_await read_message(envd, false, most);
  if (!message) co_return;
  if (method == "List") {
    co_await list(envd);
  } else if (method == "SendInput") {
    Value whole = std::move(*message);
    message.reset();
    co_await input(envd, std::move(whole));
  } else {
    Result<Value> request = small_request(method, *message);
    message.reset();
    if (request)
      co_await do_and_answer(envd, request.value());
    else
      co_await answer_rpc_error(envd, request.error());
  }
}

}  // namespace paddock::api
