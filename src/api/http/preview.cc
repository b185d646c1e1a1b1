// A port that a program listens on inside a sandbox, seen from outside: HTTP/1.1 passed on message
// by message, read strictly on both sides, and tunnelled once both agree on an upgrade (WebSocket).
#include <sys/socket.h>

#include <algorithm>

#include "api/http/data_plane.h"
#include "base/base64.h"
#include "base/text.h"
#include "guest/protocol.h"

namespace paddock::api {

namespace {

using guest::Channel;
using io::Milliseconds;
using io::Task;

constexpr Milliseconds kConnectTime = 10'000;
// How often a tunnel looks whether its other half is over.
constexpr Milliseconds kTunnelTurn = 10'000;
constexpr size_t kTurnBytes = 1 << 20;  // then the others have a turn

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view other) { return same_ignoring_case(name, other); });
}

// Headers that concern one connection and are not passed on (RFC 9110, section 7.6.1).
bool is_hop_by_hop(std::string_view name, const Headers& all) {
  if (is_one_of(name, {"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate",
                       "Proxy-Authorization", "TE", "Trailer", "Transfer-Encoding",
                       "Content-Length", "Upgrade"}))
    return true;
  for (const net::Header& header : all) {
    if (!same_ignoring_case(header.name, "Connection")) continue;
    for (const std::string& word : split(header.value, ',')) {
      size_t start = word.find_first_not_of(" \t"), end = word.find_last_not_of(" \t");
      if (start != word.npos &&
          same_ignoring_case(std::string_view(word).substr(start, end - start + 1), name))
        return true;
    }
  }
  return false;
}

// What is for the server and must not be seen by what runs inside.
bool is_ours(const net::Header& header) {
  if (is_one_of(header.name, {"X-API-Key", "X-Access-Token", "E2b-Traffic-Access-Token",
                              "E2b-Sandbox-Id", "E2b-Sandbox-Port", "X-Paddock-Tenant", "Expect"}))
    return true;
  if (!same_ignoring_case(header.name, "Authorization")) return false;
  constexpr std::string_view kKey = "e2b_", kBasic = "basic ";
  if (header.value.find(kKey) != std::string::npos) return true;
  if (!same_ignoring_case(std::string_view(header.value).substr(0, kBasic.size()), kBasic))
    return false;
  std::string encoded = header.value.substr(
      std::min(header.value.find_first_not_of(" \t", kBasic.size()), header.value.size()));
  while (encoded.size() % 4 != 0) encoded += '=';  // some leave it out
  Result<std::string> pair = from_base64(encoded);
  return pair && pair.value().find(kKey) != std::string::npos;
}

// The Host that the program sees. The sandbox may have asked for another.
std::string host_for(const manager::SandboxInfo& info, const std::string& host, uint16_t port) {
  if (info.mask_request_host.empty()) return host.empty() ? "localhost" : host;
  std::string masked = info.mask_request_host;
  constexpr std::string_view kPort = "${PORT}";
  for (size_t at = masked.find(kPort); at != masked.npos; at = masked.find(kPort))
    masked.replace(at, kPort.size(), to_text(port));
  return net::parse_authority(masked) ? masked : host;
}

// The request as the program inside gets it.
net::RequestHead inner_head(const Exchange& exchange, const manager::SandboxInfo& info,
                            uint16_t port) {
  const net::RequestHead& outer = exchange.head();
  net::RequestHead inner;
  inner.method = outer.method;
  inner.target = outer.form == net::RequestHead::Form::asterisk ? "*" : outer.path;
  inner.version = "HTTP/1.1";
  inner.headers.push_back({"Host", host_for(info, outer.host, port)});
  for (const net::Header& header : outer.headers) {
    if (same_ignoring_case(header.name, "Host") || is_hop_by_hop(header.name, outer.headers) ||
        is_ours(header))
      continue;
    if (is_one_of(header.name, {"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}))
      continue;
    inner.headers.push_back(header);
  }
  if (!exchange.peer().local) inner.headers.push_back({"X-Forwarded-For", exchange.peer().address});
  if (!outer.host.empty()) inner.headers.push_back({"X-Forwarded-Host", outer.host});
  if (outer.body.kind == net::Body::Kind::length)
    inner.headers.push_back({"Content-Length", to_text(outer.body.length)});
  if (outer.body.kind == net::Body::Kind::chunked)
    inner.headers.push_back({"Transfer-Encoding", "chunked"});
  if (outer.upgrade) {
    inner.headers.push_back({"Upgrade", *outer.upgrade});
    inner.headers.push_back({"Connection", "Upgrade"});
  } else {
    inner.headers.push_back({"Connection", "close"});
  }
  return inner;
}

// One request on its way to a program in a sandbox.
struct Preview {
  Call& call;
  std::shared_ptr<manager::Sandbox> sandbox;
  uint16_t port;
  std::shared_ptr<Channel> channel;
  std::string bytes;  // from inside, not used yet
  bool inside_ended = false, answered = false;
};

// More from inside. False at the end.
Task<bool> read_inside(Preview& preview) {
  if (preview.inside_ended) co_return false;
  Channel::Item item = co_await preview.channel->next();
  if (item.kind == Channel::Item::Kind::data) {
    preview.bytes += item.bytes;
    co_return true;
  }
  if (item.kind == Channel::Item::Kind::message) co_return true;
  preview.inside_ended = true;
  co_return false;
}

// ---- towards the program

// Passes the request's body to the program.
Task<void> send_body(Preview& preview) {
  Exchange& exchange = preview.call.exchange;
  bool chunked = exchange.head().body.kind == net::Body::Kind::chunked;
  while (!exchange.body_done()) {
    Result<std::string> piece = co_await exchange.read();
    if (!piece) {
      // A body that is cut short must not look whole inside.
      preview.channel->cancel();
      co_return;
    }
    if (piece.value().empty()) break;
    std::string bytes = chunked ? net::make_chunk(piece.value()) : std::move(piece.value());
    bool sent = co_await preview.channel->send(bytes);
    if (!sent) co_return;
  }
  std::string last = "0\r\n\r\n";
  if (chunked) (void)co_await preview.channel->send(last);
  std::shared_ptr<Channel> channel = preview.channel;
  exchange.on_client_gone([channel] { channel->cancel(); });
}

// ---- and back

// The head of the program's answer; interim answers (1xx) are skipped.
Task<Result<net::ResponseHead>> read_head_inside(Preview& preview) {
  while (true) {
    Result<size_t> size = net::head_size(preview.bytes);
    if (!size) co_return size.error();
    if (size.value() == 0) {
      bool more = co_await read_inside(preview);
      if (!more) co_return Error{Code::io, "it ended without an answer", ""};
      continue;
    }
    Result<net::ResponseHead> head =
        net::parse_response(std::string_view(preview.bytes).substr(0, size.value()),
                            preview.call.exchange.head().method);
    preview.bytes.erase(0, size.value());
    if (!head) co_return head.error();
    bool interim = head.value().status / 100 == 1 && head.value().status != 101;
    if (!interim) co_return head;
  }
}

// The program's headers as the client gets them.
Headers outer_headers(const net::ResponseHead& head) {
  Headers headers;
  for (const net::Header& header : head.headers)
    if (!is_hop_by_hop(header.name, head.headers)) headers.push_back(header);
  return headers;
}

// Passes the answer's body to the client. False: it is not whole.
Task<bool> relay_body(Preview& preview, net::Body body) {
  Exchange& exchange = preview.call.exchange;
  net::BodyReader reader(body);
  size_t in_a_row = 0;
  while (!reader.done()) {
    if (preview.bytes.empty()) {
      bool more = co_await read_inside(preview);
      if (!more) {
        reader.at_end_of_stream();
        if (!reader.done()) co_return false;
        break;
      }
      continue;
    }
    std::string content;
    Result<size_t> taken = reader.take(preview.bytes, &content);
    if (!taken) co_return false;
    preview.bytes.erase(0, taken.value());
    bool written = co_await exchange.write(content);
    if (!written) co_return false;
    in_a_row += content.size();
    if (in_a_row < kTurnBytes) continue;
    in_a_row = 0;
    co_await preview.call.manager.loop().yield();
  }
  co_return true;
}

// ---- tunnels

// From the client to the program, until either side ends.
Task<void> tunnel_in(Preview& preview, io::Stream& stream) {
  while (!preview.inside_ended) {
    if (stream.ahead.empty()) {
      Milliseconds deadline = stream.loop().now() + kTunnelTurn;
      io::Stream::More more = co_await stream.read(deadline);
      if (more == io::Stream::More::late) continue;
      if (more != io::Stream::More::yes) break;
    }
    std::string bytes = std::exchange(stream.ahead, "");
    bool sent = co_await preview.channel->send(bytes);
    if (!sent) break;
    preview.sandbox->touch();
  }
  if (!preview.inside_ended) preview.channel->end_input();
}

// From the program to the client.
Task<void> tunnel_out(Preview& preview, io::Stream& stream) {
  while (true) {
    if (preview.bytes.empty()) {
      bool more = co_await read_inside(preview);
      if (!more) break;
      continue;
    }
    std::string bytes = std::exchange(preview.bytes, "");
    bool written = co_await stream.write(bytes, 60'000);
    if (!written) {
      preview.inside_ended = true;
      preview.channel->cancel();
      break;
    }
  }
  if (stream.tls) (void)stream.tls->shut_down();
  (void)::shutdown(stream.socket.get(), SHUT_WR);
}

// Both sides agreed on an upgrade: bytes are passed as they are from now on.
Task<void> tunnel(Preview& preview, net::ResponseHead head) {
  Exchange& exchange = preview.call.exchange;
  io::Stream* stream = co_await exchange.take_over();
  Headers headers = outer_headers(head);
  const net::Header* upgrade = net::find_header(head.headers, "Upgrade");
  headers.push_back({"Upgrade", upgrade ? upgrade->value : *exchange.head().upgrade});
  headers.push_back({"Connection", "Upgrade"});
  net::ResponseHead outer{.version = "HTTP/1.1", .reason = "Switching Protocols", .status = 101};
  outer.headers = std::move(headers);
  std::string bytes = net::to_bytes(outer);
  bool written = co_await stream->write(bytes, 60'000);
  if (!written) co_return;
  io::Both both(tunnel_in(preview, *stream), tunnel_out(preview, *stream));
  co_await both;
}

// Passes the program's answer to the client, or says why there is none.
Task<void> answer_from_inside(Preview& preview) {
  Exchange& exchange = preview.call.exchange;
  std::string id = preview.sandbox->info().id;
  Result<net::ResponseHead> head = co_await read_head_inside(preview);
  if (!head) {
    std::string why = cat("The program on this port gave no valid answer: ", head.error().message);
    Reply reply = data_error(502, id, why, preview.port);
    if (!exchange.is_cut()) (void)co_await exchange.answer(std::move(reply));
  } else if (head.value().status == 101) {
    Reply unasked =
        data_error(502, id, "The program on this port upgraded a request that did not ask for it",
                   preview.port);
    if (exchange.head().upgrade && exchange.body_done())
      co_await tunnel(preview, head.value());
    else
      (void)co_await exchange.answer(std::move(unasked));
  } else {
    exchange.always.clear();  // its own headers say what browsers may
    std::optional<uint64_t> length;
    const net::Header* announced = net::find_header(head.value().headers, "Content-Length");
    if (head.value().body.kind == net::Body::Kind::length)
      length = head.value().body.length;
    else if (head.value().body.kind == net::Body::Kind::none && exchange.head().method != "HEAD")
      length = 0;
    Headers headers = outer_headers(head.value());
    if (announced && exchange.head().method == "HEAD") headers.push_back(*announced);
    if (!exchange.body_done()) exchange.close_after();
    bool begun = co_await exchange.begin(head.value().status, std::move(headers), length);
    bool whole = begun;
    if (begun) whole = co_await relay_body(preview, head.value().body);
    if (whole) (void)co_await exchange.finish();
  }
  preview.answered = true;
  preview.channel->cancel();
  if (!exchange.body_done()) exchange.stop_reading();  // the rest is not needed
}

}  // namespace

Task<Reply> serve_preview(Call& call, std::shared_ptr<manager::Sandbox> sandbox, uint16_t port) {
  std::string id = sandbox->info().id;
  std::shared_ptr<guest::Client> client = sandbox->guest();
  if (!client) co_return data_error(502, id, "The sandbox was not found");
  Reply closed = data_error(502, id, "The sandbox is running but port is not open", port);
  Value request = guest::to_value(guest::ConnectRequest{.port = port});
  Preview preview{call, sandbox, port, client->open(request), "", false, false};
  Milliseconds deadline = call.manager.loop().now() + kConnectTime;
  Channel::Item first = co_await preview.channel->next(deadline);
  if (first.kind != Channel::Item::Kind::message) co_return closed;
  net::RequestHead inner = inner_head(call.exchange, sandbox->info(), port);
  std::string head = net::to_bytes(inner);
  bool sent = co_await preview.channel->send(head);
  if (!sent) co_return closed;
  io::Both both(send_body(preview), answer_from_inside(preview));
  co_await both;
  co_return Reply::sent();
}

}  // namespace paddock::api
