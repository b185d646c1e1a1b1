#include "api/mcp.h"

#include "base/text.h"

namespace paddock::api {

namespace {

using io::Milliseconds;
using io::Task;

constexpr Milliseconds kKeepAlive = 15'000;

// What the watch for a client that goes shares with who sends.
struct Sending {
  std::shared_ptr<mcp::HttpStream> stream;
  uint64_t reader = 0;
  bool gone = false;
};

Task<bool> send_events(io::Loop& loop, Exchange& exchange, std::shared_ptr<Sending> sending,
                       mcp::HttpReply& reply) {
  mcp::HttpStream& stream = *sending->stream;
  Headers headers = reply.headers;
  headers.push_back({"Content-Type", "text/event-stream"});
  headers.push_back({"Cache-Control", "no-store"});
  headers.push_back({"X-Accel-Buffering", "no"});
  stream.stream_now();
  bool written = co_await exchange.begin(200, std::move(headers));
  std::string piece = reply.is_resumed ? std::string(":\n\n") : stream.greeting();
  if (written) written = co_await exchange.write(piece);
  uint64_t at = reply.from;
  while (written && !sending->gone && stream.is_read_by(sending->reader)) {
    if (at < stream.first()) break;  // not kept so long: who comes back is told so
    if (at < stream.end()) {
      piece = stream.as_event(at);
      written = co_await exchange.write(piece);
      if (written) stream.taken(sending->reader, ++at);
      continue;
    }
    if (stream.is_over()) break;
    Milliseconds deadline = loop.now() + kKeepAlive;
    bool in_time = co_await stream.bell.wait(deadline);
    if (in_time) continue;
    piece = ":\n\n";
    written = co_await exchange.write(piece);
  }
  if (written) written = co_await exchange.finish();
  co_return written;
}

}  // namespace

McpFront::McpFront(std::unique_ptr<mcp::Server> server, mcp::HostRules rules)
    : server_(std::move(server)),
      rules_(std::move(rules)),
      http_(std::make_unique<mcp::HttpServer>(*server_)) {}

Result<std::unique_ptr<McpFront>> McpFront::create(io::Loop& loop, mcp::Service& service,
                                                   mcp::HostRules rules) {
  std::unique_ptr<mcp::Server> server = TRY(mcp::Server::create(loop, service));
  return std::unique_ptr<McpFront>(new McpFront(std::move(server), std::move(rules)));
}

void McpFront::close() { http_->close(); }

Task<void> McpFront::answer(Exchange& exchange, std::shared_ptr<const mcp::Principal> principal) {
  exchange.always = {
      {"Access-Control-Allow-Origin", "*"},
      {"Access-Control-Expose-Headers", "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate"}};
  mcp::HttpRequest request{exchange.head().method, exchange.head().headers, "",
                           std::move(principal)};
  mcp::HostRules rules = rules_;
  if (exchange.peer().local) rules.loopback_only = false;  // no browser comes over a UNIX socket
  std::string why = mcp::check_host_and_origin(request.headers, rules);
  mcp::HttpReply reply;
  Result<std::string> body = std::string();
  if (why.empty()) body = co_await exchange.read_all(mcp::kLargestMessage);
  if (!why.empty() || !body) {
    reply.status = !why.empty() ? 403 : exchange.body_too_large() ? 413 : 400;
    reply.headers = {{"Content-Type", "application/json"}};
    reply.body = mcp::to_text(
        mcp::refusal({}, {mcp::kInvalidRequest,
                          cat("Invalid request: ", why.empty() ? body.error().message : why),
                          {}}));
  } else {
    request.body = std::move(body.value());
    reply = co_await http_->handle(std::move(request));
  }
  if (reply.stream)
    co_await send(server_->loop(), exchange, std::move(reply));
  else
    (void)co_await exchange.answer(reply.status, std::move(reply.headers), std::move(reply.body));
}

Task<void> McpFront::send(io::Loop& loop, Exchange& exchange, mcp::HttpReply reply) {
  auto sending = std::make_shared<Sending>();
  sending->stream = reply.stream;
  sending->reader = reply.stream->begin_reading(reply.from);
  mcp::HttpStream& stream = *reply.stream;
  exchange.on_client_gone([sending] {
    sending->gone = true;
    sending->stream->client_gone(sending->reader);
  });
  // An answer that comes soon, and alone, is plain JSON.
  Milliseconds deadline = loop.now() + stream.options().patience;
  while (!stream.is_streaming() && !stream.is_over() && !sending->gone) {
    bool in_time = co_await stream.bell.wait(deadline);
    if (!in_time) break;
  }
  bool written = false;
  if (sending->gone) {
    exchange.cut();
  } else if (stream.is_answer_alone() && !reply.is_resumed && !stream.is_streaming()) {
    Headers headers = reply.headers;
    headers.push_back({"Content-Type", "application/json"});
    std::string text = stream.event(1);
    written = co_await exchange.answer(stream.status(), std::move(headers), std::move(text));
  } else {
    written = co_await send_events(loop, exchange, sending, reply);
  }
  if (!written && !sending->gone) stream.client_gone(sending->reader);
  stream.end_reading(sending->reader);
}

}  // namespace paddock::api
