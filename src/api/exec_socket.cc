#include "api/exec_socket.h"

#include "api/exec_request.h"
#include "api/fields.h"
#include "api/socket.h"
#include "base/text.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Task;
using Type = net::WebSocketMessage::Type;

constexpr size_t kLargestMessage = 1 << 20;
constexpr io::Milliseconds kRequestTime = 30'000, kAskTime = 60'000;

struct Session {
  Call& call;
  Inside inside;
  WebSocket socket;
  std::shared_ptr<Channel> channel;
  int64_t pid = 0, timeout_ms = 0;
  bool kill_when_gone = true, ended = false;
};

Task<bool> send_event(WebSocket& socket, Value event) {
  std::string text = to_json(event);
  bool sent = co_await socket.send(Type::text, text);
  co_return sent;
}

// What a client wants of the process besides giving it input. What it cannot have is told, and not the end of it.
Task<void> control(Session& session, std::string text) {
  Result<Value> message = parse_json(text, "message");
  Result<void> read;
  Value request;
  if (message) {
    Fields fields(message.value());
    std::string type = fields.text("type").value_or("");
    if (type == "resize") {
      request.set("op", "resize");
      request.set("rows", fields.number("rows", 1, 10'000).value_or(24));
      request.set("columns", fields.number("columns", 1, 10'000).value_or(80));
    } else if (type == "signal") {
      request.set("op", "signal");
      request.set("signal", fields.text("signal").value_or("SIGTERM"));
    } else if (type == "close_stdin") {
      session.channel->end_input();
    } else {
      fields.wrong("type", "must be resize, signal or close_stdin");
    }
    read = fields.done();
  } else {
    read = message.error();
  }
  if (read && request.find("op")) {
    request.set("pid", session.pid);
    io::Milliseconds deadline = session.call.manager.loop().now() + kAskTime;
    Result<Value> done = co_await session.inside.guest->ask(std::move(request), deadline);
    if (!done) read = from_guest(done.error());
  }
  if (read || session.ended) co_return;
  Value event = error_event(read.error());
  event.set("fatal", false);
  (void)co_await send_event(session.socket, std::move(event));
}

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
    session.inside.sandbox->touch();
    std::string_view input = std::string_view(message->payload).substr(1);
    if (!input.empty()) (void)co_await session.channel->send(input);
  }
  session.channel->cancel();
}

Task<void> to_client(Session& session) {
  bool there = true;
  while (there && !session.ended) {
    Channel::Item item = co_await session.channel->next();
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind == Channel::Item::Kind::data) {
      std::string frame = cat(static_cast<char>(item.stream), item.bytes);
      there = co_await session.socket.send(Type::binary, frame);
      continue;
    }
    session.ended = item.kind == Channel::Item::Kind::end;
    Value event;
    if (session.ended) {
      Value outcome = co_await outcome_of(session.call, session.inside, item.value, session.timeout_ms);
      event = ended_event(std::move(outcome));
    } else {
      std::optional<Value> limit = co_await limit_that_ended(session.call, session.inside, item.error);
      event = error_event(from_guest(item.error));
      if (limit) event = ended_event(std::move(*limit));
    }
    there = co_await send_event(session.socket, std::move(event));
    break;
  }
  co_await session.socket.close(1000, "");
}

Task<void> converse(Session& session, Value start) {
  session.channel = session.inside.guest->open(start);
  std::shared_ptr<void> watched = cancel_with(session.inside, session.channel);
  Channel::Item first = co_await session.channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    Error error = first.kind == Channel::Item::Kind::failed ? from_guest(first.error) : Error{Code::internal, "the guest did not start the command", ""};
    Value event = error_event(error);
    (void)co_await send_event(session.socket, std::move(event));
    co_await session.socket.close(1000, "");
    co_return;
  }
  const Value* pid = first.value.find("pid");
  session.pid = pid && pid->as_int() ? *pid->as_int() : 0;
  if (start.find("argv")) log_command(session.inside, start, session.pid);
  Value event = start_event(first.value);
  (void)co_await send_event(session.socket, std::move(event));
  io::Both both(from_client(session), to_client(session));
  co_await both;
  if (!session.ended && session.kill_when_gone && session.inside.sandbox->is_reachable()) kill_process(session.inside.guest, session.pid);
}

Task<void> refuse(WebSocket& socket, const Error& error) {
  Value event = error_event(error);
  (void)co_await send_event(socket, std::move(event));
  co_await socket.close(1000, "");
}

}  // namespace

Task<void> exec_socket(Call& call) {
  std::optional<Inside> inside = co_await enter(call);
  if (!inside) co_return;
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return;
  Session session{call, *inside, WebSocket(*stream, kLargestMessage), nullptr};
  io::Milliseconds deadline = call.manager.loop().now() + kRequestTime;
  std::optional<net::WebSocketMessage> first = co_await session.socket.receive(deadline);
  if (!first) co_return;
  Result<Value> body = first->type == Type::text ? parse_json(first->payload, "request") : Result<Value>(Error{Code::invalid, "the first message must be text: the request", ""});
  Result<ExecRequest> request = body ? read_exec(body.value(), true) : Result<ExecRequest>(body.error());
  if (request && request.value().input) request = Error{Code::invalid, "over a WebSocket stdin is sent in messages", "say \"stdin\":true"};
  if (!request) {
    co_await refuse(session.socket, request.error());
    co_return;
  }
  session.timeout_ms = request.value().timeout_ms;
  session.kill_when_gone = !request.value().background;
  Value start = request.value().start;
  co_await converse(session, std::move(start));
}

Task<void> attach_socket(Call& call) {
  std::string text = call.parts["pid"];
  bool number = !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos;
  std::optional<Inside> inside = co_await enter(call);
  if (!inside) co_return;
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return;
  Session session{call, *inside, WebSocket(*stream, kLargestMessage), nullptr};
  session.kill_when_gone = false;
  Value start;
  start.set("op", "attach");
  start.set("pid", number ? static_cast<int64_t>(std::stol(text)) : int64_t{0});
  co_await converse(session, std::move(start));
}

}  // namespace paddock::api
