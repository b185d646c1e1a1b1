#include "egress/http_relay.h"

#include <sys/socket.h>

#include <algorithm>

#include "base/text.h"
#include "egress/refusal.h"
#include "net/http_body.h"

namespace paddock::egress {

namespace {

constexpr Milliseconds kHeadMs = 20'000;  // from the first byte of a head to its last
constexpr int kMostInterim = 16;          // "early hints" and the like before a response

// Whether a comma-separated list has this word. Case does not matter.
bool lists(std::string_view value, std::string_view word) {
  for (const std::string& part : split(value, ',')) {
    std::vector<std::string> words = words_in(part);
    if (words.size() == 1 && same_ignoring_case(words[0], word)) return true;
  }
  return false;
}

// The host in canonical form, so that spellings of one name compare equal.
Result<policy::Host> host_of(const Result<net::Authority>& authority) {
  if (!authority) return authority.error();
  return policy::canonical_host(authority.value().host);
}

void remove_header(std::vector<net::Header>& headers, std::string_view name) {
  std::erase_if(headers,
                [&](const net::Header& header) { return same_ignoring_case(header.name, name); });
}

}  // namespace

// The query is cut off: it may hold tokens.
std::string path_without_query(const std::string& path) { return path.substr(0, path.find('?')); }

// Reads a whole head, or says why there is none and which status that deserves.
Task<RequestRead> read_request(Stream& client, Milliseconds deadline) {
  RequestRead read;
  while (true) {
    Result<size_t> size = net::head_size(client.ahead);
    if (!size) {
      read.kind = RequestRead::Kind::wrong;
      read.status = size.error().code == Code::exhausted ? 431 : 400;
      read.why = size.error().message;
      co_return read;
    }
    if (size.value() > 0) {
      Result<net::RequestHead> head =
          net::parse_request(std::string_view(client.ahead).substr(0, size.value()));
      client.ahead.erase(0, size.value());
      read.kind = head ? RequestRead::Kind::request : RequestRead::Kind::wrong;
      if (head)
        read.head = std::move(head.value());
      else
        read.why = head.error().message;
      co_return read;
    }
    Stream::More more = co_await client.read(deadline);
    if (more == Stream::More::yes) continue;
    if (more == Stream::More::late && !client.ahead.empty()) {
      read.kind = RequestRead::Kind::wrong;
      read.status = 408;
      read.why = "the request's head did not come in time";
    }
    co_return read;
  }
}

HttpRelay::HttpRelay(Connection& connection, Kind kind)
    : connection_(connection),
      gate_(connection.gate_),
      client_(connection.client_),
      server_(connection.server_),
      kind_(kind) {}

// Request after request on one connection, each judged by itself.
Task<void> HttpRelay::run() {
  while (true) {
    const char* protocol = kind_ == Kind::intercepted ? "https" : "http";
    bool coming = co_await wait_for_request();
    RequestRead read;
    if (coming) read = co_await read_request(client_, gate_.loop.now() + kHeadMs);
    if (read.kind == RequestRead::Kind::end) {
      connection_.log_rest(protocol);
      co_return;
    }
    entry_ = connection_.entry(protocol);
    entry_.started = gate_.loop.now();
    entry_.method.clear();
    if (read.kind == RequestRead::Kind::wrong) {
      connection_.deny("network.http", read.why);
      co_await answer(read.status, read.why);
      co_return;
    }
    request_ = std::move(read.head);
    entry_.method = request_.method;
    entry_.path = path_without_query(request_.path);
    bool found = co_await find_server();
    if (!found || tunnel_) co_return;
    bool goes_on = co_await exchange();
    if (upgraded_) co_await switch_protocols();
    log();
    if (upgraded_) co_return;
    if (response_begun_ && !response_done_) {  // a response that was cut must not look whole
      client_.cut();
      co_return;
    }
    if (!goes_on) {
      co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
      co_return;
    }
    client_.ahead.shrink_to_fit();
    server_.ahead.shrink_to_fit();
  }
}

// Between two requests the server may close; then so do we.
Task<bool> HttpRelay::wait_for_request() {
  while (client_.ahead.empty()) {
    if (!server_.socket || client_.tls) {
      Stream::More more = co_await client_.read();
      co_return more == Stream::More::yes;
    }
    Stream::Seen from_client = client_.peek();
    if (from_client != Stream::Seen::nothing) co_return from_client == Stream::Seen::bytes;
    if (server_.peek() != Stream::Seen::nothing) {
      if (kind_ != Kind::proxy) co_return false;
      server_.socket.close();
      server_.ahead.clear();
      continue;
    }
    Interest both[] = {{&client_.socket, false}, {&server_.socket, false}};
    Wait either(gate_.loop, both, 2, Wait::kForever);
    (void)co_await either;
  }
  co_return true;
}

// The Host header must name the target that was judged.
bool HttpRelay::check_host() {
  const Target& target = connection_.target_;
  if (target.host.is_address()) return true;  // allowed as such, whatever it is called
  Result<net::Authority> authority = net::parse_authority(request_.host);
  Result<policy::Host> host = host_of(authority);
  bool same_port = authority && (!authority.value().port || *authority.value().port == target.port);
  if (host && host.value() == target.host && same_port) return true;
  connection_.deny("network.host", cat("the request is for '", printable(request_.host),
                                       "' on a connection to ", target.text()));
  return false;
}

// Checks that the request may go where it wants, and which headers are injected into it. False: it
// was answered here.
Task<bool> HttpRelay::find_server() {
  using Form = net::RequestHead::Form;
  bool found = true;
  if (kind_ == Kind::proxy) {
    found = co_await find_server_for_proxy();
    if (!found || tunnel_) co_return found;
  } else if (request_.form == Form::authority) {
    co_await answer(405, "CONNECT is not passed on here");
    co_return false;
  } else if (!check_host()) {
    server_.cut();
    co_await answer_denied();
    co_return false;
  } else if (connection_.sent_ahead_ &&
             request_.form == Form::absolute) {  // another first line than the one begun
    co_await answer(400, "a whole URL is for proxies");
    co_return false;
  }
  injections_ = gate_.injections_for(connection_.target_.host);
  if (!injections_.empty() && kind_ != Kind::intercepted) {
    bool in_the_clear = may_show_secrets();
    (in_the_clear ? gate_.log.secrets_in_the_clear : gate_.log.secrets_withheld)
        .insert(connection_.target_.text());
    if (!in_the_clear) injections_.clear();
  }
  secrets_.clear();
  for (const Inject* inject : injections_) secrets_.push_back(inject->secret);
  if (!injections_.empty() && request_.method == "TRACE") {
    co_await answer(405, "TRACE would send the secret back");
    co_return false;
  }
  co_return true;
}

// Without TLS everyone on the way could read the secret, and nobody knows who answers. An operator
// who lists that very port, or a host in a private network, wants it so. On the ports of HTTPS it
// is never sent, as only a hostile program would speak without TLS there.
bool HttpRelay::may_show_secrets() const {
  const Target& target = connection_.target_;
  if (target.port == 443 || target.port == 8443) return false;
  return gate_.rules.lists_port(target.host, target.port) ||
         net::not_public(connection_.dialled_.address);
}

// The same for a client that knows it speaks to a proxy: each request names its own target.
Task<bool> HttpRelay::find_server_for_proxy() {
  using Form = net::RequestHead::Form;
  bool connect = request_.form == Form::authority;
  if (!connect && request_.form != Form::absolute) {
    connection_.deny("network.http", "a proxy needs the whole URL");
    co_await answer(400, "this is a proxy: ask for http://HOST/PATH, or CONNECT HOST:PORT");
    co_return false;
  }
  Result<net::Authority> authority = net::parse_authority(request_.authority);
  Result<policy::Host> host = host_of(authority);
  if (!host || (connect && !authority.value().port)) {
    connection_.deny("network.http", host ? "CONNECT without a port" : host.error().message);
    co_await answer(400, connection_.verdict_.why);
    co_return false;
  }
  uint16_t port = authority.value().port.value_or(80);
  Target target = gate_.target_for(host.value(), port);
  // A synthetic address: the server would not know it by that name.
  if (!connect && !(target.host == host.value())) {
    connection_.target_ = target;
    connection_.deny("network.host", cat("ask for ", target.host_text(), " by its name"));
    co_await answer_denied();
    co_return false;
  }
  Target& current = connection_.target_;
  bool same = server_.socket && current.host == target.host && current.port == target.port &&
              gate_.rules.decide(target.host, port).allowed;
  if (!same || connect) {
    server_.socket.close();
    server_.ahead.clear();
    connection_.dialled_ = {};
    current = target;
    bool reached = co_await connection_.reach();
    Entry fresh = connection_.entry("http");
    entry_.name = fresh.name, entry_.port = fresh.port, entry_.address = fresh.address,
    entry_.error = fresh.error;
    if (!reached && connection_.verdict_.allowed) {
      co_await answer(502, cat("cannot reach ", target.text(), ": ", connection_.dialled_.error));
      co_return false;
    }
    if (!reached) {
      co_await answer_denied();
      co_return false;
    }
  }
  if (connect) {
    static constexpr std::string_view kGranted = "HTTP/1.1 200 Connection established\r\n\r\n";
    tunnel_ = co_await client_.write(kGranted);
    connection_.method_ = "CONNECT";
  }
  co_return true;
}

// Answers by itself and ends the connection.
Task<void> HttpRelay::answer(int status, std::string what) {
  std::string response = error_response(status, what, entry_.method.empty() ? nullptr : &request_);
  entry_.status = status;
  (void)co_await client_.write(response);
  log();
  co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
}

// 421 says that the request came over a connection to another host; 403 is a denial.
Task<void> HttpRelay::answer_denied() {
  std::string response = denied_response(connection_.target_, connection_.verdict_, &request_);
  entry_.status = connection_.verdict_.rule == "network.host" ? 421 : 403;
  (void)co_await client_.write(response);
  log();
  co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
}

void HttpRelay::log() {
  entry_.verdict = connection_.verdict_;
  connection_.log(entry_);
}

// What the server gets is what was judged: the path of the target, without what was meant for a
// proxy.
void HttpRelay::rewrite_request() {
  if (request_.form == net::RequestHead::Form::absolute) request_.target = request_.path;
  if (request_.host.empty()) request_.headers.push_back({"Host", request_.authority});
  std::erase_if(request_.headers, [](const net::Header& header) {
    return header.name.size() > 6 && same_ignoring_case(header.name.substr(0, 6), "Proxy-");
  });
  // Cleartext HTTP/2 would carry requests that nobody judges. A server that is not asked stays with
  // HTTP/1.
  if (request_.upgrade && lists(*request_.upgrade, "h2c")) {
    remove_header(request_.headers, "Connection");
    request_.headers.push_back({"Connection", request_.keep_alive ? "keep-alive" : "close"});
    request_.upgrade.reset();
  }
  remove_header(request_.headers, "HTTP2-Settings");
  // Some servers would honour it all the same.
  if (!request_.upgrade) remove_header(request_.headers, "Upgrade");
  if (injections_.empty()) return;
  // What is compressed, or a part that begins within it, could not be searched for the secret.
  for (const char* name : {"Accept-Encoding", "Range", "If-Range"})
    remove_header(request_.headers, name);
  request_.headers.push_back({"Accept-Encoding", "identity"});
  for (const Inject* inject : injections_) {
    remove_header(request_.headers, inject->header);
    request_.headers.push_back({inject->header, inject->value});
  }
}

// Sends the body and receives the response at the same time, as a server may answer early. True if
// another request may follow.
Task<bool> HttpRelay::exchange() {
  rewrite_request();
  request_sent_ = response_done_ = response_begun_ = keep_ = false;
  // The server may have got the beginning of the head already, while it was unclear what it is.
  std::string head = net::to_bytes(request_).substr(std::exchange(connection_.sent_ahead_, 0));
  bool sent = co_await server_.write(head);
  if (sent) {
    Both directions(send_body(), receive());
    co_await directions;
  }
  if (!response_begun_ && !upgraded_) {
    entry_.error = "the server closed without a response";
    std::string response = error_response(
        502, cat(connection_.target_.text(), " closed the connection without a response"),
        &request_);
    entry_.status = 502;
    (void)co_await client_.write(response);
  }
  co_return keep_&& request_sent_&& response_done_;
}

// The body of the request, as it comes.
Task<void> HttpRelay::send_body() {
  net::BodyReader reader(request_.body);
  while (!reader.done() && request_.body.kind != net::Body::Kind::none) {
    if (client_.ahead.empty()) {
      Stream::More more = co_await client_.read();
      if (more != Stream::More::yes) {
        if (!response_done_) server_.cut();  // half a request is none
        co_return;
      }
    }
    Result<size_t> taken = reader.take(client_.ahead);
    if (!taken) {
      connection_.deny("network.http", taken.error().message);
      server_.cut();
      co_return;
    }
    std::string block = client_.ahead.substr(0, taken.value());
    client_.ahead.erase(0, taken.value());
    bool sent = co_await server_.write(block);
    if (!sent) co_return;
    co_await gate_.loop.yield();
  }
  request_sent_ = true;
}

// The response, with its secrets taken out where headers were injected.
Task<void> HttpRelay::receive() {
  int interim = kMostInterim;
  while (true) {
    Result<size_t> size = net::head_size(server_.ahead);
    if (size && size.value() == 0) {
      Stream::More more = co_await server_.read();
      if (more != Stream::More::yes) break;
      continue;
    }
    std::string head = size ? server_.ahead.substr(0, size.value()) : std::string();
    Result<net::ResponseHead> parsed =
        size ? net::parse_response(head, request_.method) : Result<net::ResponseHead>(size.error());
    if (!parsed) {
      entry_.error = cat("a malformed response: ", parsed.error().message);
      break;
    }
    server_.ahead.erase(0, head.size());
    net::ResponseHead& response = parsed.value();
    entry_.status = response.status;
    const net::Header* encoding = net::find_header(response.headers, "Content-Encoding");
    if (!injections_.empty() && encoding && !same_ignoring_case(encoding->value, "identity")) {
      entry_.error =
          "the server compressed its response, which cannot be searched for the secret then";
      break;
    }
    if (!injections_.empty()) {
      for (net::Header& header : response.headers)
        header = {scrubbed(header.name, secrets_), scrubbed(header.value, secrets_)};
      response.reason = scrubbed(response.reason, secrets_);
      head = net::to_bytes(response);
    }
    response_begun_ = true;
    bool sent = co_await client_.write(head);
    if (!sent) break;
    upgraded_ = response.status == 101 && request_.upgrade;
    if (upgraded_) co_return;
    if (response.status == 101) break;  // nobody asked for it
    if (response.status >= 100 && response.status < 200) {
      response_begun_ = false;
      if (--interim > 0) continue;
      entry_.error = "the server sent too many interim responses";
      break;
    }
    response_done_ = co_await receive_body(response);
    keep_ = response_done_ && request_.keep_alive && response.keep_alive &&
            response.body.kind != net::Body::Kind::until_close;
    break;
  }
  if (response_done_ && request_sent_) co_return;
  // Nobody takes the rest of the request any more.
  keep_ = false;
  (void)::shutdown(client_.socket.get(), SHUT_RD);
  server_.cut();  // also when it has stopped reading
}

// True if all of it came and was passed on.
Task<bool> HttpRelay::receive_body(const net::ResponseHead& response) {
  net::BodyReader reader(response.body);
  Scrub scrub(secrets_);
  bool scrubs = !injections_.empty(), chunked = response.body.kind == net::Body::Kind::chunked;
  while (!reader.done() && response.body.kind != net::Body::Kind::none) {
    if (server_.ahead.empty()) {
      Stream::More more = co_await server_.read();
      if (more == Stream::More::end) reader.at_end_of_stream();
      if (more != Stream::More::yes && !reader.done()) co_return false;
    }
    std::string content;
    Result<size_t> taken = reader.take(server_.ahead, scrubs ? &content : nullptr);
    if (!taken) {
      entry_.error = cat("a malformed response: ", taken.error().message);
      co_return false;
    }
    std::string block = scrubs ? scrub.feed(content) : server_.ahead.substr(0, taken.value());
    server_.ahead.erase(0, taken.value());
    if (scrubs && reader.done()) block += scrub.finish();
    if (scrubs && chunked) {
      block = block.empty() ? "" : net::make_chunk(block);
      if (reader.done()) block += net::make_chunk("");
    }
    bool sent = co_await client_.write(block);
    if (!sent) co_return false;
    co_await gate_.loop.yield();
  }
  co_return true;
}

// After 101 the two speak something else, still to the host that was judged.
Task<void> HttpRelay::switch_protocols() {
  if (!client_.tls && injections_.empty()) {
    std::string from_client = std::exchange(client_.ahead, {}),
                from_server = std::exchange(server_.ahead, {});
    bool sent = co_await server_.write(from_client);
    if (sent) sent = co_await client_.write(from_server);
    if (sent) co_await relay(gate_, client_, server_);
    co_return;
  }
  Both directions(pump(client_, server_, false), pump(server_, client_, true));
  co_await directions;
}

// Bytes of an upgraded connection in one direction.
Task<void> HttpRelay::pump(Stream& from, Stream& to, bool scrub_it) {
  Scrub scrub(scrub_it ? secrets_ : std::vector<std::string>());
  Stream::More more = Stream::More::yes;
  bool sent = true;
  while (sent) {
    if (from.ahead.empty()) more = co_await from.read();
    if (more != Stream::More::yes) break;
    std::string block = scrub.feed(std::exchange(from.ahead, {}));
    sent = co_await to.write(block);
    co_await gate_.loop.yield();
  }
  std::string rest = scrub.finish();
  if (more == Stream::More::end && sent) sent = co_await to.write(rest);
  if (more == Stream::More::end && sent) {  // the other direction may go on
    if (to.tls) (void)to.tls->shut_down();
    (void)::shutdown(to.socket.get(), SHUT_WR);
    co_return;
  }
  from.cut();
  to.cut();
}

}  // namespace paddock::egress
