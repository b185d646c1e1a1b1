// Native API: commands, streamed as lines of JSON or answered at once; and the processes of a sandbox.
#include "api/all_routes.h"
#include "api/exec_request.h"
#include "api/exec_socket.h"
#include "api/fields.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

constexpr size_t kMostCollected = 1 << 20;  // of stdout and of stderr, where the answer is one object

int64_t pid_of(const Value& message) {
  const Value* pid = message.find("pid");
  return pid && pid->as_int() ? *pid->as_int() : 0;
}

// Gives the whole input, then closes it.
Task<void> feed(std::shared_ptr<Channel> channel, std::string input) {
  (void)co_await channel->send(input);
  channel->end_input();
}

struct Run {
  Call& call;
  Inside inside;
  ExecRequest request;
  std::shared_ptr<Channel> channel;
  int64_t pid = 0;
};

// What the command says as it says it.
Task<void> stream(Run& run) {
  Exchange& exchange = run.call.exchange;
  Headers headers{{"Content-Type", "application/x-ndjson"}, {"X-Accel-Buffering", "no"}};
  bool there = co_await exchange.begin(200, std::move(headers));
  Value started;
  started.set("pid", run.pid);
  std::string line = to_json(start_event(started)) + "\n";
  if (there) there = co_await exchange.write(line);
  while (there && !run.request.background) {
    Channel::Item item = co_await run.channel->next();
    Value event;
    bool last = item.kind != Channel::Item::Kind::data && item.kind != Channel::Item::Kind::message;
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind == Channel::Item::Kind::data) {
      event = output_event(item.stream, item.bytes);
    } else if (item.kind == Channel::Item::Kind::end) {
      Value outcome = co_await outcome_of(run.call, run.inside, item.value, run.request.timeout_ms);
      event = ended_event(std::move(outcome));
      run.pid = 0;
    } else {
      std::optional<Value> limit = co_await limit_that_ended(run.call, run.inside, item.error);
      event = error_event(from_guest(item.error));
      if (limit) event = ended_event(std::move(*limit));
    }
    line = to_json(event) + "\n";
    there = co_await exchange.write(line);
    if (last) break;
  }
  if (there) (void)co_await exchange.finish();
}

struct Collected {
  std::string bytes;
  bool truncated = false;
  void add(std::string_view more) {
    size_t room = kMostCollected - bytes.size();
    truncated = truncated || more.size() > room;
    bytes.append(more.substr(0, room));
  }
  void put(const char* name, Value& into) const {
    bool changed = false;
    into.set(name, to_utf8(bytes, &changed));
    into.set(cat(name, "_truncated"), truncated);
    if (changed) into.set(cat(name, "_base64"), base64(bytes));
  }
};

Task<void> collect(Run& run) {
  Collected output, errors;
  while (true) {
    Channel::Item item = co_await run.channel->next();
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind == Channel::Item::Kind::data) {
      (item.stream == guest::kErrors ? errors : output).add(item.bytes);
      continue;
    }
    Value outcome;
    if (item.kind == Channel::Item::Kind::end) {
      outcome = co_await outcome_of(run.call, run.inside, item.value, run.request.timeout_ms);
    } else {
      std::optional<Value> limit = co_await limit_that_ended(run.call, run.inside, item.error);
      if (!limit) {
        Error error = from_guest(item.error);
        co_await answer_error(run.call, error);
        co_return;
      }
      outcome = std::move(*limit);
    }
    Value value;
    value.set("id", run.inside.sandbox->info().id);
    value.set("pid", run.pid);
    value.set("outcome", std::move(outcome));
    output.put("stdout", value);
    errors.put("stderr", value);
    run.pid = 0;
    (void)co_await run.call.exchange.answer_json(200, std::move(value));
    co_return;
  }
}

Task<void> exec(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<ExecRequest> request = body ? read_exec(body.value(), false) : Result<ExecRequest>(body.error());
  if (!request) {
    co_await answer_error(call, request.error());
    co_return;
  }
  std::optional<Inside> inside = co_await enter(call);
  if (!inside) co_return;
  Run run{call, *inside, std::move(request.value()), nullptr, 0};
  run.channel = inside->guest->open(run.request.start);
  std::shared_ptr<void> watched = cancel_with(*inside, run.channel);
  Channel::Item first = co_await run.channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    Error error = first.kind == Channel::Item::Kind::failed ? from_guest(first.error) : Error{Code::internal, "the guest did not start the command", ""};
    co_await answer_error(call, error);
    co_return;
  }
  run.pid = pid_of(first.value);
  log_command(run.inside, run.request.start, run.pid);
  if (run.request.input) io::spawn(feed(run.channel, std::move(*run.request.input)));
  // Who asked for it is who wants it: when they go, it ends.
  std::shared_ptr<Channel> channel = run.channel;
  if (!run.request.background) call.exchange.on_client_gone([channel] { channel->cancel(); });
  bool wait = call.exchange.query("wait").value_or("") == "1";
  if (wait && !run.request.background) co_await collect(run);
  else co_await stream(run);
  if (run.pid != 0 && !run.request.background && inside->sandbox->is_reachable()) kill_process(inside->guest, run.pid);
}

// ---- processes

std::optional<int64_t> pid_in(const Call& call) {
  const std::string& text = call.parts.at("pid");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(text);
}

Task<void> list_processes(Call& call) {
  Value request;
  request.set("op", "processes");
  co_await answer_from_guest(call, std::move(request));
}

Task<void> signal_process(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  std::optional<int64_t> pid = pid_in(call);
  Result<void> read;
  Value request;
  if (body) {
    Fields fields(body.value());
    std::string signal = fields.text("signal").value_or("SIGTERM");
    read = fields.done();
    request.set("op", "signal");
    request.set("pid", pid.value_or(0));
    request.set("signal", signal);
  } else {
    read = body.error();
  }
  if (read && !pid) read = Error{Code::invalid, "a process is named by its number", ""};
  if (!read) {
    co_await answer_error(call, read.error());
    co_return;
  }
  co_await answer_from_guest(call, std::move(request));
}

// The body goes to the process's stdin (or terminal, with terminal=1) as it comes; close=1 closes it behind.
Task<void> write_input(Call& call) {
  std::optional<int64_t> pid = pid_in(call);
  std::optional<Inside> inside = co_await enter(call);
  if (!inside) co_return;
  Value request;
  request.set("op", "input");
  request.set("pid", pid.value_or(0));
  request.set("terminal", call.exchange.query("terminal").value_or("") == "1");
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece) {
      co_await answer_error(call, piece.error());
      co_return;
    }
    if (piece.value().empty()) break;
    bool sent = co_await channel->send(piece.value());
    if (!sent) break;
  }
  channel->end_input();
  Channel::Item last = co_await channel->next();
  if (last.kind == Channel::Item::Kind::failed) {
    Error error = from_guest(last.error);
    co_await answer_error(call, error);
    co_return;
  }
  if (call.exchange.query("close").value_or("") != "1") {
    (void)co_await call.exchange.answer_empty(204);
    co_return;
  }
  Value closing;
  closing.set("op", "close_stdin");
  closing.set("pid", pid.value_or(0));
  co_await answer_from_guest(call, std::move(closing));
}

}  // namespace

const std::vector<Route>& exec_routes() {
  static const std::vector<Route> routes = {
      {"POST", "/v1/sandboxes/{id}/exec", "sandboxes", exec, "run a command: its output as lines of JSON, or with wait=1 one object"},
      {"GET", "/v1/sandboxes/{id}/exec/ws", "sandboxes", exec_socket, "run a command over a WebSocket, with stdin and terminal"},
      {"GET", "/v1/sandboxes/{id}/processes", "sandboxes", list_processes, "list the processes that were started through the server"},
      {"GET", "/v1/sandboxes/{id}/processes/{pid}/ws", "sandboxes", attach_socket, "attach to a process over a WebSocket"},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", "sandboxes", signal_process, "send a signal to a process"},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/input", "sandboxes", write_input, "write to a process's stdin or terminal"},
  };
  return routes;
}

}  // namespace paddock::api
