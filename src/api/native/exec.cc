// Native API: commands, streamed as lines of JSON or answered at once; and the processes of a
// sandbox.
#include "api/http/all_routes.h"
#include "api/native/command.h"
#include "api/native/exec_request.h"
#include "api/native/exec_socket.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;

// Of stdout and of stderr, where the answer is one object.
constexpr size_t kMostCollected = 1 << 20;

// Gives the whole input, then closes it.
Task<void> feed(std::shared_ptr<Channel> channel, std::string input) {
  (void)co_await channel->send(input);
  channel->end_input();
}

// What the command says as it says it. A command in the background is left after its start.
Task<void> stream(Exchange& exchange, Command& command, bool background) {
  Headers headers{{"Content-Type", "application/x-ndjson"}, {"X-Accel-Buffering", "no"}};
  bool there = co_await exchange.begin(200, std::move(headers));
  std::string line = to_json(start_event(command.pid())) + "\n";
  if (there) there = co_await exchange.write(line);
  bool last = background;
  while (there && !last) {
    Command::News news = co_await command.next();
    last = news.kind != Command::News::Kind::output;
    Value event = last ? end_event(command, news) : output_event(news.stream, news.bytes);
    line = to_json(event) + "\n";
    there = co_await exchange.write(line);
  }
  if (there) (void)co_await exchange.finish();
}

// What a command wrote to one stream, up to a limit. Bytes that are not UTF-8 are told as base64 as
// well.
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

// Waits for the end and answers with all that the command wrote, up to a limit.
Task<Result<Reply>> collect(Command& command) {
  Collected output, errors;
  Command::News news;
  while (true) {
    news = co_await command.next();
    if (news.kind != Command::News::Kind::output) break;
    (news.stream == guest::kErrors ? errors : output).add(news.bytes);
  }
  const manager::Sandbox& sandbox = *command.inside().sandbox;
  if (!news.outcome) co_return manager::from_guest(sandbox, news.error);
  Value value = Value::Object{
      {"id", sandbox.info().id}, {"pid", command.pid()}, {"outcome", std::move(*news.outcome)}};
  output.put("stdout", value);
  errors.put("stderr", value);
  put_counts(command.counts(), value);
  put_history(sandbox, value);
  co_return Reply::json(200, value);
}

Task<Result<Reply>> exec(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json());
  CO_TRY(ExecRequest request, read_exec(body, false));
  CO_TRY(SandboxCall inside, co_await enter(call));
  Command command(inside);
  CO_TRY_VOID(co_await command.start(request.start, "exec"));
  std::shared_ptr<Channel> channel = command.channel();
  std::shared_ptr<void> watched = cancel_with(inside, channel);
  Result<void> started = co_await command.started();
  if (!started) {
    Error error = from_guest(started.error());
    command.not_started(error);
    co_return error;
  }
  command.log(request.start);
  if (request.input) {
    command.note_input(request.input->size(), true);
    io::spawn(feed(channel, std::move(*request.input)));
  }
  // Whoever asked for it is whoever wants it: when they go, it ends.
  if (!request.background) call.exchange.on_client_gone([channel] { channel->cancel(); });
  Result<Reply> reply = Reply::sent();
  if (call.asks("wait") && !request.background)
    reply = co_await collect(command);
  else
    co_await stream(call.exchange, command, request.background);
  if (!request.background) command.kill();
  co_return reply;
}

// ---- processes

Task<Result<Reply>> list_processes(Call& call) {
  return answer_from_guest(call, guest::to_value(guest::ProcessesRequest{}), {.redacts = true});
}

Task<Result<Reply>> signal_process(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::string signal = fields.text("signal").value_or("SIGTERM");
  CO_TRY_VOID(fields.done());
  std::optional<int64_t> pid = pid_in_path(call);
  if (!pid) co_return Error{Code::invalid, "a process is named by its number"};
  Value request = guest::to_value(guest::SignalRequest{.pid = pid, .signal = signal});
  AskOptions options{.signals = true};
  Result<Reply> reply = co_await answer_from_guest(call, std::move(request), options);
  co_return reply;
}

// The body goes to the process's stdin (or terminal, with terminal=1) as it comes; close=1 closes
// it after that.
Task<Result<Reply>> write_input(Call& call) {
  int64_t pid = pid_in_path(call).value_or(0);
  CO_TRY(SandboxCall inside, co_await enter(call));
  Value request =
      guest::to_value(guest::InputRequest{.pid = pid, .terminal = call.asks("terminal")});
  GuestChannel channel(inside, request, GuestChannel::Client::not_watched);
  size_t given = 0;
  while (true) {
    Result<std::string> piece = co_await call.exchange.read();
    if (!piece && given > 0) note_input(inside, request, given);
    if (!piece) co_return piece.error();
    if (piece.value().empty()) break;
    bool sent = co_await channel->send(piece.value());
    if (!sent) break;
    given += piece.value().size();
  }
  channel->end_input();
  CO_TRY_VOID(co_await channel.result());
  bool closes = call.asks("close");
  note_input(inside, request, given, closes);
  if (!closes) co_return Reply::empty(204);
  Value closing = guest::to_value(guest::CloseInputRequest{.pid = pid});
  Result<Reply> reply = co_await answer_from_guest(call, std::move(closing));
  co_return reply;
}

}  // namespace

std::vector<Route> exec_routes() {
  return {
      {"POST", "/v1/sandboxes/{id}/exec", "sandboxes", exec,
       "run a command: its output as lines of JSON, or with wait=1 one object", "wait", "Exec",
       "lines:ExecEvent"},
      {"GET", "/v1/sandboxes/{id}/exec/ws", "sandboxes", exec_socket,
       "run a command over a WebSocket, with stdin and terminal", "", "", "websocket", 101},
      {"GET", "/v1/sandboxes/{id}/processes", "sandboxes", list_processes,
       "list the processes that were started through the server", "", "", "Processes"},
      {"GET", "/v1/sandboxes/{id}/processes/{pid}/ws", "sandboxes", attach_socket,
       "attach to a process over a WebSocket", "", "", "websocket", 101},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/signal", "sandboxes", signal_process,
       "send a signal to a process", "", "Signal"},
      {"POST", "/v1/sandboxes/{id}/processes/{pid}/input", "sandboxes", write_input,
       "write to a process's stdin or terminal", "terminal,close", "bytes"},
  };
}

}  // namespace paddock::api
