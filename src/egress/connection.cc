#include "egress/connection.h"

#include <linux/netfilter_ipv4.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/text.h"
#include "egress/http_relay.h"
#include "egress/lookup.h"
#include "egress/refusal.h"
#include "net/client_hello.h"
#include "net/dns.h"
#include "net/socks.h"
#include "net/synthetic.h"

namespace paddock::egress {

namespace {

// From the first byte of a ClientHello, greeting or head to its last.
constexpr Milliseconds kHelloMs = 20'000;
// How long a refused program may take to say what it speaks.
constexpr Milliseconds kRefusedWaitMs = 2'000;
// A client that sends nothing for so long is waiting for an answer.
constexpr Milliseconds kPauseMs = 30;
constexpr Milliseconds kGreetingMs = 2'000;  // for the rest of a server's greeting
constexpr size_t kSniff = 16 << 10;
// IP6T_SO_ORIGINAL_DST; its header does not go with <netinet/in.h>.
constexpr int kIpv6OriginalDestination = 80;

// Where the program connected to, before the redirection in its own network namespace. The kernel
// says so, and the program cannot forge it.
std::optional<net::Endpoint> original_destination(int socket) {
  net::SocketAddress local;
  local.size = sizeof local.storage;
  if (::getsockname(socket, local.get(), &local.size) != 0) return std::nullopt;
  std::optional<net::Endpoint> here = net::from_socket_address(local);
  if (!here) return std::nullopt;
  net::SocketAddress original;
  original.size = sizeof original.storage;
  bool ipv6 = here->address.ipv6;
  if (::getsockopt(socket, ipv6 ? IPPROTO_IPV6 : IPPROTO_IP,
                   ipv6 ? kIpv6OriginalDestination : SO_ORIGINAL_DST, original.get(),
                   &original.size) != 0)
    return std::nullopt;
  return net::from_socket_address(original);
}

// Whether the program connected to the listener itself, and so uses it as its proxy.
bool is_listener(const net::Endpoint& endpoint) {
  const char* kind = net::not_public(endpoint.address);
  bool here = (kind && std::string_view(kind) == "loopback") ||
              endpoint.address == net::ipv4(net::kSyntheticGateway) ||
              endpoint.address == net::synthetic_ipv6(net::ipv4(1));
  return here && endpoint.port == net::kEgressPort;
}

}  // namespace

Connection::Connection(Gate& gate, Fd client)
    : gate_(gate),
      client_(gate, Stream::Side::client),
      server_(gate, Stream::Side::server),
      started_(gate.loop.now()) {
  int on = 1;
  (void)::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  client_.socket.open(gate.loop, std::move(client));
  gate.connections.insert(this);
}

Task<void> Connection::serve(Gate& gate, Fd client) {
  std::unique_ptr<Connection> connection(new Connection(gate, std::move(client)));
  co_await connection->run();
}

// For a connection above the limit: it is recorded and reset, and nothing of it is read.
void Connection::refuse(Gate& gate, Fd client) {
  std::optional<net::Endpoint> destination = original_destination(client.get());
  io::reset_at_close(client.get());
  if (!destination) return;
  Target target = gate.target_at(*destination);
  bool total = gate.log.total_reached;
  policy::Verdict verdict{
      .allowed = false,
      .rule = total ? "limits.net_total" : "limits.connections",
      .why = total ? "the sandbox has used up its bytes"
                   : cat("there are ", gate.connections.size(), " connections already")};
  gate.log.add({.name = target.host_text(),
                .port = target.port,
                .protocol = "tcp",
                .started = gate.loop.now(),
                .verdict = verdict});
}

void Connection::end() {
  client_.cut();
  server_.cut();
}

// A target without a port has not been decided about yet.
void Connection::judge_again() {
  bool decided = target_.port != 0;
  if (!decided) return;
  policy::Verdict now = gate_.rules.decide(target_.host, target_.port);
  if (now.allowed && dialled_.connected) now = judge(gate_, target_, dialled_.address);
  if (!now.allowed) end();
}

// What the log says of this connection so far.
Entry Connection::entry(const char* protocol) const {
  Entry entry{.name = target_.host_text(),
              .port = target_.port,
              .protocol = protocol,
              .method = method_,
              .started = started_,
              .verdict = verdict_};
  if (server_.socket) entry.address = net::to_string(dialled_.address);
  entry.error = dialled_.error;
  return entry;
}

void Connection::log(const char* protocol) { log(entry(protocol)); }

void Connection::log(Entry entry) {
  entry.up = client_.up - std::exchange(up_logged_, client_.up);
  entry.down = client_.down - std::exchange(down_logged_, client_.down);
  if (entry.port == 0) entry.name = "(proxy)";  // it never said where to
  gate_.log.add(entry);
  logged_ = true;
}

void Connection::log_rest(const char* protocol) {
  if (logged_ && up_logged_ == client_.up && down_logged_ == client_.down) return;
  if (target_.port == 0 && client_.up == 0) return;
  Entry entry = this->entry(protocol);
  if (entry.error.empty() && entry.verdict.allowed)
    entry.error = "it ended before a request was complete";
  log(entry);
}

// From here on the connection counts as denied, whatever was decided before.
void Connection::deny(const char* rule, std::string why) {
  verdict_ = {.allowed = false, .rule = rule, .why = std::move(why)};
}

// A strict policy lets through what can be checked on the ports of HTTP and HTTPS, and nothing
// else.
bool Connection::is_strict_port() const {
  return gate_.settings.strict && (target_.port == 80 || target_.port == 443);
}

// Finds out where the program wants to go, judges that, and carries the bytes.
Task<void> Connection::run() {
  std::optional<net::Endpoint> destination = original_destination(client_.socket.get());
  if (!destination) {
    client_.reset();
  } else if (is_listener(*destination)) {
    co_await run_proxy();
  } else if (destination->port == 53) {
    co_await run_dns();
  } else {
    Target target = gate_.target_at(*destination);
    co_await run_redirected(target);
  }
}

// Decides about the target, then dials it. False if it may not be reached or does not answer. The
// rules may have changed while it was dialled, so the address is then judged again.
Task<bool> Connection::reach() {
  verdict_ = gate_.admit_name(target_.host, gate_.rules.decide(target_.host, target_.port));
  if (!verdict_.allowed) co_return false;
  uint64_t edition = gate_.edition();
  dialled_ = co_await dial(gate_, target_, verdict_, server_);
  if (dialled_.connected && gate_.edition() != edition)
    dialled_.verdict = judge(gate_, target_, dialled_.address);
  verdict_ = dialled_.verdict;
  if (dialled_.connected) limit_buffers();
  co_return dialled_.connected&& verdict_.allowed && !client_.is_cut();
}

// Bytes that wait for a slow reader wait in the kernel, outside of the sandbox's memory. A few
// connections may have all that fast and far hosts need; the many that come after them may not.
void Connection::limit_buffers() {
  constexpr size_t kUnlimited = 16;
  if (gate_.connections.size() <= kUnlimited) return;
  int size = 128 << 10;
  for (int socket : {client_.socket.get(), server_.socket.get()})
    for (int option : {SO_SNDBUF, SO_RCVBUF})
      (void)::setsockopt(socket, SOL_SOCKET, option, &size, sizeof size);
}

// A connection that the kernel redirected here. The program believes that it reached its target.
Task<void> Connection::run_redirected(Target target) {
  target_ = target;
  bool reached = co_await reach();
  if (reached)
    co_await carry();
  else
    co_await refuse_redirected();
}

// An HTTP client gets the reason. Others get a reset, once it is clear that they do not speak HTTP.
Task<void> Connection::refuse_redirected() {
  Milliseconds deadline = gate_.loop.now() + kRefusedWaitMs;
  net::Looks looks = net::Looks::more;
  while (looks == net::Looks::more && client_.ahead.size() < kSniff) {
    Milliseconds patience = client_.ahead.empty() ? deadline : gate_.loop.now() + 10 * kPauseMs;
    Stream::More more = co_await client_.read(patience);
    if (more != Stream::More::yes) break;
    looks = net::looks_like_http(client_.ahead);
  }
  if (looks == net::Looks::http) {
    RequestRead read = co_await read_request(client_, deadline);
    const net::RequestHead* known = read.kind == RequestRead::Kind::request ? &read.head : nullptr;
    std::string response =
        verdict_.allowed
            ? error_response(502, cat("cannot reach ", target_.text(), ": ", dialled_.error), known)
            : denied_response(target_, verdict_, known);
    Entry entry = this->entry("http");
    if (known) entry.method = known->method, entry.path = path_without_query(known->path);
    entry.status = verdict_.allowed ? 502 : 403;
    (void)co_await client_.write(response);
    log(entry);
    co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
    co_return;
  }
  client_.reset();
  log(net::looks_like_tls(client_.ahead) ? "tls" : "tcp");
}

// Waits until either side has sent something.
Task<Connection::First> Connection::first_to_speak() {
  Interest both[] = {{&client_.socket, false}, {&server_.socket, false}};
  while (true) {
    if (!client_.ahead.empty()) co_return First::client;
    Stream::Seen from_client = client_.peek();
    if (from_client == Stream::Seen::bytes) co_return First::client;
    if (from_client == Stream::Seen::end) co_return First::nobody;
    Stream::Seen from_server = server_.peek();
    if (from_server == Stream::Seen::bytes) co_return First::server;
    if (from_server == Stream::Seen::end) co_return First::nobody;
    Wait either(gate_.loop, both, 2, Wait::kForever);
    (void)co_await either;
  }
}

// Reads until it is clear what the client speaks. Some protocols begin with words that could start
// a request, and then wait for an answer; they must not wait for ever. So after a moment what the
// client sent goes to the server, and is remembered. If it becomes a request after all, the rest is
// held until it was judged; a server does nothing with half a first line.
Task<Connection::Speech> Connection::listen_to_client() {
  Interest both[] = {{&client_.socket, false}, {&server_.socket, false}};
  Milliseconds deadline = gate_.loop.now() + kHelloMs;
  while (true) {
    const std::string& ahead = client_.ahead;
    bool may_be_tls = !ahead.empty() && net::looks_like_tls(ahead);
    if (may_be_tls && ahead.size() >= 2) co_return Speech::tls;
    net::Looks looks = ahead.empty() || may_be_tls ? net::Looks::more : net::looks_like_http(ahead);
    if (looks == net::Looks::http) co_return Speech::http;
    if (looks == net::Looks::other) co_return Speech::other;
    bool holds_back = may_be_tls || is_strict_port();
    if (ahead.empty() || holds_back) {
      Stream::More more = co_await client_.read(deadline);
      // The client will send no more, so this will never be HTTP or TLS.
      if (more == Stream::More::end) co_return Speech::other;
      if (more == Stream::More::late) co_return Speech::unclear;
      if (more != Stream::More::yes) co_return Speech::broken;
      continue;
    }
    Stream::Seen from_client = client_.peek();
    if (from_client == Stream::Seen::bytes) {
      Stream::More more = co_await client_.read(deadline);
      if (more != Stream::More::yes) co_return Speech::broken;
      continue;
    }
    if (from_client == Stream::Seen::end) co_return Speech::other;
    // The server answered, which no HTTP server does to half a line.
    if (server_.peek() != Stream::Seen::nothing) co_return Speech::other;
    bool all_sent = sent_ahead_ == ahead.size();
    Wait either(gate_.loop, both, 2, all_sent ? Wait::kForever : gate_.loop.now() + kPauseMs);
    bool in_time = co_await either;
    if (in_time || all_sent) continue;
    std::string unsent = ahead.substr(sent_ahead_);
    sent_ahead_ = ahead.size();
    bool sent = co_await server_.write(unsent);
    if (!sent) co_return Speech::broken;
  }
}

// Servers of HTTP/2 begin with a frame of settings, some of them without waiting for the client. It
// shows that the client will speak HTTP/2, although nothing of that was seen yet.
Task<bool> Connection::server_greets_in_http2() {
  Milliseconds deadline = gate_.loop.now() + kGreetingMs;
  while (true) {
    std::string greeting = server_.peek_at(net::kHttp2FrameHead);
    net::Looks looks = net::looks_like_http2_settings(greeting);
    if (looks != net::Looks::more || greeting.empty()) co_return looks == net::Looks::http;
    if (gate_.loop.now() >= deadline) co_return true;  // half of one
    co_await gate_.loop.sleep(kPauseMs);
  }
}

// Chooses by what the client speaks. HTTP and TLS are read and checked. Other protocols are carried
// as they are, except on the ports where a strict policy wants to check.
Task<void> Connection::carry() {
  First first = co_await first_to_speak();
  Speech speech = Speech::other;
  if (first == First::client) speech = co_await listen_to_client();
  // Cleartext HTTP/2 carries requests whose host cannot be judged. Who speaks first is a matter of
  // chance, and decides nothing.
  if (speech == Speech::other && !target_.host.is_address() &&
      server_.peek() == Stream::Seen::bytes) {
    bool is_http2 = co_await server_greets_in_http2();
    if (is_http2)
      deny("network.http2",
           "cleartext HTTP/2, whose requests cannot be checked, to a host by its name");
  }
  if (speech == Speech::unclear)
    deny("network.unclear", "the first bytes began like a request and never became one");
  if (speech == Speech::broken) dialled_.error = "the connection broke";
  bool checked = speech == Speech::tls || speech == Speech::http || speech == Speech::broken;
  if (!checked && is_strict_port())
    deny("network.strict",
         cat("on port ", target_.port, " only HTTP and TLS that can be checked are let through"));
  if (!verdict_.allowed || speech == Speech::broken) {
    client_.reset();
    server_.reset();
    log("tcp");
  } else if (speech == Speech::tls) {
    co_await carry_tls();
  } else if (speech == Speech::http && target_.host.is_address() &&
             starts_with(client_.ahead, "PRI * HTTP/2.0")) {
    // Requests that nobody can judge, to an address that is listed as such: it has no name to agree
    // with.
    co_await carry_opaque("http2");
  } else if (speech == Speech::http) {
    co_await carry_http();
  } else {
    co_await carry_opaque("tcp");
  }
}

// Carries bytes as they are, after those that were read to find out what they are.
Task<void> Connection::carry_opaque(const char* protocol) {
  std::string seen = std::exchange(client_.ahead, {}).substr(sent_ahead_);
  bool sent = co_await server_.write(seen);
  if (sent) co_await relay(gate_, client_, server_);
  log(protocol);
}

// The name that the client asks for in the clear must be the one that it resolved.
Task<void> Connection::carry_tls() {
  net::ClientHello hello;
  Milliseconds deadline = gate_.loop.now() + kHelloMs;
  net::Parse parsed = net::parse_client_hello(client_.ahead, hello);
  while (parsed == net::Parse::more) {
    Stream::More more = co_await client_.read(deadline);
    if (more != Stream::More::yes) break;
    parsed = net::parse_client_hello(client_.ahead, hello);
  }
  bool named = !target_.host.is_address();
  Result<policy::Host> asked = policy::canonical_host(hello.server_name);
  if (parsed != net::Parse::done)
    deny("network.tls", "the TLS greeting is malformed or incomplete");
  else if (named && !hello.server_name.empty() && !(asked && asked.value() == target_.host))
    deny("network.sni", cat("TLS asks for '", printable(hello.server_name), "' on a connection to ",
                            target_.host_text()));
  else if (named && hello.server_name.empty() && gate_.settings.strict)
    deny("network.strict", "TLS without a server name");
  else if (hello.encrypted && gate_.settings.strict)
    deny("network.strict", "TLS with an encrypted client hello");
  if (!verdict_.allowed) {
    client_.reset();
    server_.reset();
    log("tls");
    co_return;
  }
  if (gate_.tls && !hello.server_name.empty() && !gate_.injections_for(target_.host).empty())
    co_await intercept();
  else
    co_await carry_opaque("tls");
}

// HTTP in the clear on a redirected connection: every request's Host must be the target.
Task<void> Connection::carry_http() {
  HttpRelay relay(*this, HttpRelay::Kind::direct);
  co_await relay.run();
}

// Terminates TLS on both sides, so that the header can be added where the program cannot see it.
Task<void> Connection::intercept() {
  Milliseconds deadline = gate_.loop.now() + kHelloMs;
  Result<net::TlsStream> inner =
      gate_.tls->accept(client_.socket.get(), target_.host.name, client_.ahead);
  client_.ahead.clear();
  if (!inner) {
    dialled_.error = inner.error().message;
    client_.reset();
    log("tls");
    co_return;
  }
  client_.tls.emplace(std::move(inner.value()));
  bool shaken = co_await io::shake_tls_hands(client_.socket, *client_.tls, deadline);
  if (!shaken) {
    dialled_.error = cat("TLS with the program: ", client_.tls->why(),
                         " (does it trust the sandbox's authority?)");
    log("tls");
    co_return;
  }
  Result<net::TlsStream> outer = gate_.tls->connect(server_.socket.get(), target_.host.name);
  bool secure = false;
  if (outer) {
    server_.tls.emplace(std::move(outer.value()));
    secure = co_await io::shake_tls_hands(server_.socket, *server_.tls, deadline);
  }
  if (!secure) {
    dialled_.error = cat("TLS with ", target_.text(), ": ",
                         server_.tls ? server_.tls->why() : outer.error().message);
    std::string response = error_response(502, dialled_.error, nullptr);
    (void)co_await client_.write(response);
    log("https");
    co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
    co_return;
  }
  HttpRelay relay(*this, HttpRelay::Kind::intercepted);
  co_await relay.run();
}

// ---- DNS over TCP ---

// DNS over TCP: each question has its length in front.
Task<void> Connection::run_dns() {
  while (true) {
    std::optional<std::string> query = net::take_framed(client_.ahead);
    if (!query) {
      Milliseconds deadline = gate_.loop.now() + kHelloMs;
      Stream::More more = co_await client_.read(deadline);
      if (more != Stream::More::yes) co_return;
      continue;
    }
    std::string answer = co_await answer_lookup(gate_, *query, 65535);
    if (answer.empty()) co_return;
    std::string framed = net::frame_for_tcp(answer);
    bool sent = co_await client_.write(framed);
    if (!sent) co_return;
    co_await gate_.loop.yield();
  }
}

// ---- as a proxy ---

// SOCKS 5 begins with the byte 5, which cannot begin an HTTP request.
Task<void> Connection::run_proxy() {
  Milliseconds deadline = gate_.loop.now() + kHelloMs;
  Stream::More more = co_await client_.read(deadline);
  if (more != Stream::More::yes) co_return;
  if (client_.ahead[0] == 5)
    co_await run_socks();
  else
    co_await run_http_proxy();
}

// SOCKS (net/socks.h): the program names its target itself.
Task<void> Connection::run_socks() {
  Milliseconds deadline = gate_.loop.now() + kHelloMs;
  std::string& ahead = client_.ahead;
  size_t size = 0;
  net::Parse parsed = net::parse_socks_greeting(ahead, size);
  while (parsed == net::Parse::more) {
    Stream::More more = co_await client_.read(deadline);
    if (more != Stream::More::yes) co_return;
    parsed = net::parse_socks_greeting(ahead, size);
  }
  std::string_view greeting =
      parsed == net::Parse::done ? net::kSocksNoAuthentication : net::kSocksNoMethod;
  bool sent = co_await client_.write(greeting);
  if (!sent || parsed != net::Parse::done) co_return;
  ahead.erase(0, size);

  net::SocksRequest request;
  parsed = net::parse_socks_request(ahead, size, request);
  while (parsed == net::Parse::more) {
    Stream::More more = co_await client_.read(deadline);
    if (more != Stream::More::yes) co_return;
    parsed = net::parse_socks_request(ahead, size, request);
  }
  if (parsed != net::Parse::done) co_return;
  ahead.erase(0, size);

  Result<policy::Host> host = policy::canonical_host(request.host);
  net::SocksCode code = net::SocksCode::ok;
  method_ = "SOCKS";
  if (request.command != 1) {
    code = net::SocksCode::bad_command;
  } else if (!host || request.port == 0) {
    target_ = {policy::Host{.name = printable(request.host)}, request.port};
    deny("network.allow", "not a valid host");
    code = net::SocksCode::not_allowed;
  } else {
    target_ = gate_.target_for(host.value(), request.port);
    bool reached = co_await reach();
    if (!verdict_.allowed)
      code = net::SocksCode::not_allowed;
    else if (!reached)
      code = dialled_.error == "connection refused" ? net::SocksCode::refused
                                                    : net::SocksCode::host_unreachable;
  }
  std::string reply = net::make_socks_reply(code);
  sent = co_await client_.write(reply);
  if (code != net::SocksCode::ok) {
    log("tcp");
    co_await io::close_gently(gate_.loop, client_.socket, client_.tls);
  } else if (sent) {
    co_await carry();
  } else {
    log("tcp");
  }
}

Task<void> Connection::run_http_proxy() {
  HttpRelay relay(*this, HttpRelay::Kind::proxy);
  co_await relay.run();
  if (!relay.tunnel_wanted()) co_return;
  // CONNECT was granted: from here on it is as if the program had connected there itself.
  co_await carry();
}

}  // namespace paddock::egress
