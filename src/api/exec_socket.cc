#include "api/exec_socket.h"

#include "api/data_events.h"
#include "api/exec_request.h"
#include "api/socket.h"
#include "base/fields.h"
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
  RunningSandbox inside;
  WebSocket socket;
  Recorded recorded;
  OutputRedaction redaction;
  std::shared_ptr<Channel> channel;
  int64_t pid = 0, timeout_ms = 0;
  bool kill_when_gone = true, ended = false;
};

Task<bool> send_event(WebSocket& socket, Value event) {
  std::string text = to_json(event);
  bool sent = co_await socket.send(Type::text, text);
  co_return sent;
}

// What a client wants of the process besides giving it input. What it cannot have is told, and not
// the end of it.
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
      note_input(session.call, *session.inside.sandbox, Value::Object{{"pid", session.pid}}, 0,
                 true);
    } else {
      fields.wrong("type", "must be resize, signal or close_stdin");
    }
    read = fields.done();
  } else {
    read = message.error();
  }
  if (read && request.find("op")) {
    request.set("pid", session.pid);
    if (request.find("signal")) {
      Value fields = signal_fields(request);
      read = co_await record_doing(session.call, session.inside.sandbox, "command.signal",
                                   std::move(fields));
    }
  }
  if (read && request.find("op")) {
    io::Milliseconds deadline = session.call.manager.loop().now() + kAskTime;
    Result<Value> done = co_await session.inside.guest->ask(std::move(request), deadline);
    if (!done) read = without_secrets(*session.inside.sandbox, from_guest(done.error()));
  }
  if (!read) note_failure(session.call, read.error());
  session.call.recorded.reset();
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
    if (input.empty()) continue;
    bool sent = co_await session.channel->send(input);
    if (sent)
      note_input(session.call, *session.inside.sandbox, Value::Object{{"pid", session.pid}},
                 input.size());
  }
  session.channel->cancel();
}

Task<bool> send_output(Session& session, uint8_t stream, std::string shown) {
  if (shown.empty()) co_return true;
  std::string frame = cat(static_cast<char>(stream), shown);
  bool there = co_await session.socket.send(Type::binary, frame);
  co_return there;
}

Task<void> to_client(Session& session) {
  bool there = true, typing = false;
  while (there && !session.ended) {
    io::Milliseconds until = typing ? session.call.manager.loop().now() + OutputRedaction::kTypingMs
                                    : io::Wait::kForever;
    Channel::Item item = co_await session.channel->next(until);
    if (item.kind == Channel::Item::Kind::message) continue;
    if (item.kind == Channel::Item::Kind::late) {
      typing = false;
      std::string shown = session.redaction.show_typing();
      there = co_await send_output(session, guest::kTerminal, std::move(shown));
      continue;
    }
    if (item.kind == Channel::Item::Kind::data) {
      session.recorded.count(item.stream, item.bytes.size());
      std::string shown = session.redaction.feed(item.stream, item.bytes);
      typing = session.redaction.holds_typing();
      there = co_await send_output(session, item.stream, std::move(shown));
      continue;
    }
    for (OutputRedaction::Rest& rest : session.redaction.finish())
      (void)co_await send_output(session, rest.stream, std::move(rest.bytes));
    session.ended = item.kind == Channel::Item::Kind::end;
    std::optional<Value> outcome;
    if (session.ended)
      outcome =
          co_await outcome_of(session.call.manager, session.inside, item.value, session.timeout_ms);
    else
      outcome = co_await limit_that_ended(session.call.manager, session.inside, item.error);
    if (outcome) session.recorded.end(*outcome, session.redaction.counts());
    Value event = outcome ? ended_event(std::move(*outcome), session.redaction.counts())
                          : error_event(without_secrets(
                                *session.inside.sandbox,
                                manager::from_guest(*session.inside.sandbox, item.error)));
    put_history(*session.inside.sandbox, event);
    there = co_await send_event(session.socket, std::move(event));
    break;
  }
  co_await session.socket.close(1000, "");
}

Task<void> refuse(WebSocket& socket, Error error) {
  Value event = error_event(error);
  (void)co_await send_event(socket, std::move(event));
  co_await socket.close(1000, "");
}

Task<void> converse(Session& session, Value start) {
  if (start.find("argv")) {
    Result<void> told = co_await session.recorded.start_command(start, "exec/ws");
    if (!told) {
      co_await refuse(session.socket, told.error());
      co_return;
    }
  }
  session.channel = session.inside.guest->open(start);
  std::shared_ptr<void> watched = cancel_with(session.inside, session.channel);
  Channel::Item first = co_await session.channel->next();
  if (first.kind != Channel::Item::Kind::message) {
    Error error = first.kind == Channel::Item::Kind::failed
                      ? from_guest(first.error)
                      : Error{Code::internal, "the guest did not start the command", ""};
    session.recorded.not_started(error);
    error = without_secrets(*session.inside.sandbox, std::move(error));
    co_await refuse(session.socket, error);
    co_return;
  }
  const Value* pid = first.value.find("pid");
  session.pid = pid && pid->as_int() ? *pid->as_int() : 0;
  session.recorded.runs_as(session.inside.guest, session.pid, session.timeout_ms);
  if (start.find("argv")) log_command(session.inside, start, session.pid);
  Value event = start_event(first.value);
  (void)co_await send_event(session.socket, std::move(event));
  io::Both both(from_client(session), to_client(session));
  co_await both;
  if (!session.ended && session.kill_when_gone && session.inside.sandbox->is_reachable())
    kill_process(session.inside.guest, session.pid);
}

}  // namespace

Task<void> exec_socket(Call& call) {
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return;
  Session session{call,
                  *inside,
                  WebSocket(*stream, kLargestMessage),
                  {call.manager, call.caller, inside->sandbox},
                  OutputRedaction(call.redaction),
                  nullptr};
  io::Milliseconds deadline = call.manager.loop().now() + kRequestTime;
  std::optional<net::WebSocketMessage> first = co_await session.socket.receive(deadline);
  if (!first) co_return;
  Result<Value> body =
      first->type == Type::text
          ? parse_json(first->payload, "request")
          : Result<Value>(Error{Code::invalid, "the first message must be text: the request", ""});
  Result<ExecRequest> request =
      body ? read_exec(body.value(), true) : Result<ExecRequest>(body.error());
  if (request && request.value().input)
    request =
        Error{Code::invalid, "over a WebSocket stdin is sent in messages", "say \"stdin\":true"};
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
  bool number = !text.empty() && text.size() < 10 &&
                text.find_first_not_of("0123456789") == std::string::npos;
  std::optional<RunningSandbox> inside = co_await enter(call);
  if (!inside) co_return;
  io::Stream* stream = co_await accept_websocket(call.exchange);
  if (!stream) co_return;
  Session session{call,
                  *inside,
                  WebSocket(*stream, kLargestMessage),
                  {call.manager, call.caller, inside->sandbox},
                  OutputRedaction(call.redaction),
                  nullptr};
  session.kill_when_gone = false;
  Value start;
  start.set("op", "attach");
  start.set("pid", number ? static_cast<int64_t>(std::stol(text)) : int64_t{0});
  co_await converse(session, std::move(start));
}

}  // namespace paddock::api
