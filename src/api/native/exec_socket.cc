#include "api/native/exec_socket.h"

#include "api/http/websocket.h"
#include "api/native/exec_request.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using io::Task;
using Type = net::WebSocketMessage::Type;

constexpr size_t kLargestMessage = 1 << 20;
constexpr io::Milliseconds kRequestTime = 30'000;

// A command and the WebSocket that it is led over.
struct Session {
  Command command;
  WebSocket socket;
  bool kill_when_gone = true;
  std::shared_ptr<void> watched;  // the sandbox, which may go

  Session(const SandboxCall& inside, io::Stream& stream)
      : command(inside), socket(stream, kLargestMessage) {}
};

Task<bool> send_event(WebSocket& socket, Value event) {
  std::string text = to_json(event);
  bool sent = co_await socket.send(Type::text, text);
  co_return sent;
}

// What a client wants of the process besides giving it input, as a request to the guest. None: it
// has been done.
Result<std::optional<Value>> read_control(Session& session, const std::string& text) {
  Value message = TRY(parse_json(text, "message"));
  Fields fields(message);
  std::string type = fields.text("type").value_or("");
  std::optional<Value> request;
  int64_t pid = session.command.pid();
  if (type == "resize") {
    request = guest::to_value(
        guest::ResizeRequest{.pid = pid,
                             .rows = fields.number("rows", 1, 10'000).value_or(24),
                             .columns = fields.number("columns", 1, 10'000).value_or(80)});
  } else if (type == "signal") {
    request = guest::to_value(
        guest::SignalRequest{.pid = pid, .signal = fields.text("signal").value_or("SIGTERM")});
  } else if (type == "close_stdin") {
    session.command.channel()->end_input();
    session.command.note_input(0, true);
  } else {
    fields.wrong("type", "must be resize, signal or close_stdin");
  }
  TRY(fields.done());
  return request;
}

// Does what a control message asks for.
Task<Result<void>> obey(Session& session, std::string text) {
  CO_TRY(std::optional<Value> request, read_control(session, text));
  if (!request) co_return Result<void>();
  const SandboxCall& inside = session.command.inside();
  if (request->find("signal")) CO_TRY_VOID(co_await record_signal(inside, *request));
  Result<Value> done = co_await ask_guest(inside, std::move(*request));
  if (!done) co_return without_secrets(*inside.sandbox, done.error());
  co_return Result<void>();
}

// What the client cannot have is told to it, and does not end the command.
Task<void> control(Session& session, std::string text) {
  Result<void> done = co_await obey(session, std::move(text));
  Call& call = session.command.inside().call;
  if (!done) note_failure(call, done.error());
  call.recorded.reset();
  if (done || session.command.is_over()) co_return;
  Value event = error_event(done.error());
  event.set("fatal", false);
  (void)co_await send_event(session.socket, std::move(event));
}

// Input and control messages, until the client goes.
Task<void> from_client(Session& session) {
  while (true) {
    std::optional<net::WebSocketMessage> message = co_await session.socket.receive();
    if (!message) break;
    if (message->type == Type::text) {
      std::string text = std::move(message->payload);
      co_await control(session, std::move(text));
      continue;
    }
    if (message->payload.empty() || message->payload[0] != guest::kInput) {
      co_await session.socket.close(1002, "input begins with a byte 0");
      break;
    }
    session.command.inside().sandbox->touch();
    std::string_view input = std::string_view(message->payload).substr(1);
    if (input.empty()) continue;
    bool sent = co_await session.command.channel()->send(input);
    if (sent) session.command.note_input(input.size());
  }
  session.command.channel()->cancel();
}

// Output and the end of the command.
Task<void> to_client(Session& session) {
  bool there = true, last = false;
  while (there && !last) {
    Command::News news = co_await session.command.next();
    last = news.kind != Command::News::Kind::output;
    if (last) {
      Value event = end_event(session.command, news);
      there = co_await send_event(session.socket, std::move(event));
    } else {
      std::string frame = cat(static_cast<char>(news.stream), news.bytes);
      there = co_await session.socket.send(Type::binary, frame);
    }
  }
  co_await session.socket.close(1000, "");
}

// Over a WebSocket there is no status: the error is an event, and the last one.
Task<void> refuse(WebSocket& socket, Error error) {
  Value event = error_event(error);
  (void)co_await send_event(socket, std::move(event));
  co_await socket.close(1000, "");
}

// Starts the command, or attaches to a process where there is none to start.
Task<Result<void>> begin(Session& session, std::optional<guest::StartRequest> start) {
  Command& command = session.command;
  const SandboxCall& inside = command.inside();
  if (start)
    CO_TRY_VOID(co_await command.start(*start, "exec/ws"));
  else
    command.attach({.pid = pid_in_path(inside.call).value_or(0)});
  session.watched = cancel_with(inside, command.channel());
  Result<void> started = co_await command.started();
  if (!started) {
    Error error = from_guest(started.error());
    command.not_started(error);
    co_return without_secrets(*inside.sandbox, std::move(error));
  }
  if (start) command.log(*start);
  co_return Result<void>();
}

// Begins, then passes messages both ways until one side is done.
Task<void> converse(Session& session, std::optional<guest::StartRequest> start) {
  Result<void> begun = co_await begin(session, std::move(start));
  if (!begun) {
    co_await refuse(session.socket, begun.error());
    co_return;
  }
  Value event = start_event(session.command.pid());
  (void)co_await send_event(session.socket, std::move(event));
  io::Both both(from_client(session), to_client(session));
  co_await both;
  if (session.kill_when_gone) session.command.kill();
}

// The client's first message.
Result<ExecRequest> read_first(const net::WebSocketMessage& message) {
  if (message.type != Type::text)
    return Error{Code::invalid, "the first message must be text: the request"};
  Value body = TRY(parse_json(message.payload, "request"));
  ExecRequest request = TRY(read_exec(body, true));
  if (request.input)
    return Error{Code::invalid, "over a WebSocket stdin is sent in messages", "say \"stdin\":true"};
  return request;
}

}  // namespace

Task<Result<Reply>> exec_socket(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return Reply::sent();
  Session session(inside, *stream);
  io::Milliseconds deadline = call.manager.loop().now() + kRequestTime;
  std::optional<net::WebSocketMessage> first = co_await session.socket.receive(deadline);
  if (!first) co_return Reply::sent();
  Result<ExecRequest> request = read_first(*first);
  if (!request) {
    co_await refuse(session.socket, request.error());
    co_return Reply::sent();
  }
  session.kill_when_gone = !request.value().background;
  std::optional<guest::StartRequest> start = request.value().start;
  co_await converse(session, std::move(start));
  co_return Reply::sent();
}

Task<Result<Reply>> attach_socket(Call& call) {
  CO_TRY(SandboxCall inside, co_await enter(call));
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return Reply::sent();
  Session session(inside, *stream);
  session.kill_when_gone = false;
  std::optional<guest::StartRequest> nothing;
  co_await converse(session, std::move(nothing));
  co_return Reply::sent();
}

}  // namespace paddock::api
