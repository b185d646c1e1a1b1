// MCP over HTTP: requests that are answered with JSON or with a stream of events.
#include "api/native/mcp.h"

#include <algorithm>

#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "base/text.h"
#include "tools/toolbox.h"

namespace paddock::api {

namespace {

using io::Milliseconds;
using io::Task;

constexpr Milliseconds kKeepAlive = 15'000;

// Shared by the sender and the watch for a client that goes away.
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
    if (at < stream.first()) break;  // no longer kept: the client is told when it comes back
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
  if (reply.stream) {
    co_await send(server_->loop(), exchange, std::move(reply));
    co_return;
  }
  Reply whole{reply.status, std::move(reply.headers), std::move(reply.body)};
  (void)co_await exchange.answer(std::move(whole));
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
    Reply whole{stream.status(), reply.headers, stream.event(1)};
    whole.headers.push_back({"Content-Type", "application/json"});
    written = co_await exchange.answer(std::move(whole));
  } else {
    written = co_await send_events(loop, exchange, sending, reply);
  }
  if (!written && !sending->gone) stream.client_gone(sending->reader);
  stream.end_reading(sending->reader);
}

// ---- /mcp of `paddock serve`

Result<McpFront*> Server::mcp() {
  if (mcp_) return mcp_.get();
  tools::Toolbox* toolbox = TRY(this->toolbox());
  mcp::HostRules rules;
  // Called by names of its own, once it listens for others than this machine.
  for (const std::string& place : addresses())
    if (starts_with(place, "http") && !starts_with(place, "http://127.") &&
        place.find("://[::1]") == std::string::npos && !starts_with(place, "https://127."))
      rules.loopback_only = false;
  std::string domain = options_.domain.substr(0, options_.domain.rfind(':'));
  if (!domain.empty()) rules.hosts.push_back(domain);
  mcp_ = TRY(McpFront::create(loop_, *toolbox, std::move(rules)));
  mcp_drain_ = on_drain([this] { mcp_->close(); });
  return mcp_.get();
}

namespace {

// A key that was revoked, or has expired since, ends what goes on with it.
bool is_good(manager::Keys& keys, const std::string& id) {
  Result<std::vector<manager::KeyInfo>> all = keys.list();
  if (!all) return false;
  return std::any_of(all.value().begin(), all.value().end(), [&id](const manager::KeyInfo& key) {
    return key.id == id && (key.expires == 0 || key.expires > manager::wall_time_now());
  });
}

// The key is looked at again whenever something goes on with it: streams live long.
io::Task<Result<Reply>> answer_mcp(Call& call) {
  CO_TRY(McpFront * front, call.server.mcp());
  auto principal = std::make_shared<tools::CallerPrincipal>();
  principal->caller = call.caller;
  principal->id = cat(call.caller.tenant, " ", call.caller.key);
  if (!call.caller.key.empty())
    principal->may_still = [keys = &call.server.keys(), id = call.caller.key] {
      return is_good(*keys, id);
    };
  co_await front->answer(call.exchange, principal);
  co_return Reply::sent();
}

}  // namespace

std::vector<Route> mcp_routes() {
  return {
      {"POST", "/mcp", "sandboxes", answer_mcp},
      {"GET", "/mcp", "sandboxes", answer_mcp},
      {"DELETE", "/mcp", "sandboxes", answer_mcp},
  };
}

}  // namespace paddock::api
