// Native API: commands, streamed as lines of JSON or answered at once; and the processes of a
// sandbox.
#include "api/all_routes.h"
#include "api/data_events.h"
#include "api/exec_request.h"
#include "api/exec_socket.h"
#include "base/fields.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

// Of stdout and of stderr, where the answer is one object.
constexpr size_t kMostCollected = 1 << 20;

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
  RunningSandbox inside;
  ExecRequest request;
  Recorded& recorded;
  OutputRedaction redaction;
  std::shared_ptr<Channel> channel;
  int64_t pid = 0;
};

// How it ended, told to the records too. Nothing: it was let go of, or its sandbox was.
Task<std::optional<Value>> ending_of(Run& run, Channel::Item item) {
  std::optional<Value> outcome;
  if (item.kind == Channel::Item::Kind::end)
    outcome = co_await outcome_of(run.call.manager, run.inside, item.value, run.request.timeout_ms);
  else
    outcome = co_await limit_that_ended(run.call.manager, run.inside, item.error);
  if (outcome) run.recorded.end(*outcome, run.redaction.counts());
  if (item.kind == Channel::Item::Kind::end) run.pid = 0;
  co_return outcome;
}

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
    if (item.kind == Channel::Item::Kind::message) continue;
    line.clear();
    bool last = item.kind != Channel::Item::Kind::data;
    if (!last) {
      run.recorded.count(item.stream, item.bytes.size());
      std::string shown = run.redaction.feed(item.stream, item.bytes);
      if (shown.empty()) continue;
      line = to_json(output_event(item.stream, shown)) + "\n";
    } else {
      for (const OutputRedaction::Rest& rest : run.redaction.finish())
        line += to_json(output_event(rest.stream, rest.bytes)) + "\n";
      std::optional<Value> outcome = co_await ending_of(run, item);
      Value event =
          outcome ? ended_event(std::move(*outcome), run.redaction.counts())
                  : error_event(without_secrets(
                        *run.inside.sandbox, manager::from_guest(*run.inside.sandbox, item.error)));
      put_history(*run.inside.sandbox, event);
      line += to_json(event) + "\n";
    }
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
  auto add = [&](uint8_t stream, std::string_view shown) {
    (stream == guest::kErrors ? errors : output).add(shown);
  };
  Channel::Item item;
  while (true) {
    item = co_await run.channel->next();
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind != Channel::Item::Kind::data) break;
    run.recorded.count(item.stream, item.bytes.size());
    add(item.stream, run.redaction.feed(item.stream, item.bytes));
  }
  for (const OutputRedaction::Rest& rest : run.redaction.finish()) add(rest.stream, rest.bytes);
  int64_t pid = run.pid;
  std::optional<Value> outcome = co_await ending_of(run, item);
  if (!outcome) {
    Error error = manager::from_guest(*run.inside.sandbox, item.error);
    co_await answer_error(run.call, error);
    co_return;
  }
  Value value;
  value.set("id", run.inside.sandbox->info().id);
  value.set("pid", pid);
  value.set("outcome", std::move(*outcome));
  output.put("stdout", value);
  errors.put("stderr", value);
  put_counts(run.redaction.counts(), value);
  put_history(*run.inside.sandbox, value);
  run.pid = 0;
  (void)co_await run.call.exchange.answer_json(200, std::move(value));
}

Task<void> exec(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<ExecRequest> request =
      body ? read_exec(body.value(), false) : Result<ExecRequest>(body.error());
  if (!request) {
    co_await answer_error(call, request.error());
    co_return;
  }
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Recorded recorded(call.manager, call.caller, inside->sandbox);
  Run run{call,    *inside, std::move(request.value()), recorded, OutputRedaction(call.redaction),
          nullptr, 0};
  Result<void> told = co_await recorded.start_command(run.request.start, "exec");
  if (!told) {
    co_await answer_error(call, told.error());
    co_return;
  }
  run.channel = inside->guest->open(run.request.start);
  std::shared_ptr<void> watched = cancel_with(*inside, run.channel);
  Channel::Item first = co_await run.channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    Error error = first.kind == Channel::Item::Kind::failed
                      ? from_guest(first.error)
                      : Error{Code::internal, "the guest did not start the command", ""};
    recorded.not_started(error);
    co_await answer_error(call, error);
    co_return;
  }
  run.pid = pid_of(first.value);
  recorded.runs_as(inside->guest, run.pid, run.request.timeout_ms);
  log_command(run.inside, run.request.start, run.pid);
  if (run.request.input) {
    note_input(call, *inside->sandbox, Value::Object{{"pid", run.pid}}, run.request.input->size(),
               true);
    io::spawn(feed(run.channel, std::move(*run.request.input)));
  }
  // Who asked for it is who wants it: when they go, it ends.
  std::shared_ptr<Channel> channel = run.channel;
  if (!run.request.background) call.exchange.on_client_gone([channel] { channel->cancel(); });
  bool wait = call.exchange.query("wait").value_or("") == "1";
  if (wait && !run.request.background)
    co_await collect(run);
  else
    co_await stream(run);
  if (run.pid != 0 && !run.request.background && inside->sandbox->is_reachable())
    kill_process(inside->guest, run.pid);
}

// ---- processes

std::optional<int64_t> pid_in(const Call& call) {
  const std::string& text = call.parts.at("pid");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

Task<void> list_processes(Call& call) {
  Value request;
  request.set("op", "processes");
  AskOptions options{.redacts = true};
  co_await answer_from_guest(call, std::move(request), options);
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
  AskOptions options{.signals = true};
  co_await answer_from_guest(call, std::move(request), options);
}

// The body goes to the process's stdin (or terminal, with terminal=1) as it comes; close=1 closes
// it behind.
Task<void> write_input(Call& call) {
  std::optional<int64_t> pid = pid_in(call);
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  Value request;
  request.set("op", "input");
  request.set("pid", pid.value_or(0));
  request.set("terminal", call.exchange.query("terminal").value_or("") == "1");
  std::shared_ptr<Channel> channel = inside->guest->open(request);
  std::shared_ptr<void> watched = cancel_with(*inside, channel);
  size_t given = 0;
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece) {
      if (given > 0) note_input(call, *inside->sandbox, request, given);
      co_await answer_error(call, piece.error());
      co_return;
    }
    if (piece.value().empty()) break;
    bool sent = co_await channel->send(piece.value());
    if (!sent) break;
    given += piece.value().size();
  }
  channel->end_input();
  Channel::Item last = co_await channel->next();
  if (last.kind == Channel::Item::Kind::failed) {
    Error error = from_guest(last.error);
    co_await answer_error(call, error);
    co_return;
  }
  bool closes = call.exchange.query("close").value_or("") == "1";
  note_input(call, *inside->sandbox, request, given, closes);
  if (!closes) {
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
      {"POST", "/v1/sandboxes/{id}/exec", "sandboxes", exec,
       "run a command: its output as lines of JSON, or with wait=1 one object"},
      {"GET", "/v1/sandboxes/{id}/exec/ws", "sandboxes", exec_socket,
       "run a command over a WebSocket, with stdin and terminal"},
      {"GET", "/v1/sandboxes/{id}/processes", "sandboxes", list_processes,
       "list the processes that were started through the server"},
      {"GET", "/v1/sandboxes/{id}/processes/{pid}/ws", "sandboxes", attach_socket,
       "attach to a process over a WebSocket"},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", "sandboxes", signal_process,
       "send a signal to a process"},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/input", "sandboxes", write_input,
       "write to a process's stdin or terminal"},
  };
  return routes;
}

}  // namespace paddock::api
