#include "client/client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/percent.h"
#include "base/text.h"
#include "net/http_url.h"
#include "net/websocket.h"
#include "store/state.h"

namespace paddock::client {

namespace {

// In bytes: of one read, and of a line that the server streams.
constexpr size_t kPiece = 64 << 10, kLongestLine = 16 << 20;

// The usual reason is that no server runs, so the hint says how to start one.
Error no_server(const std::string& where, int number) {
  return {Code::not_found,
          cat("connect to the server at ", printable(where), ": ", std::strerror(number)),
          "start one with: paddock serve"};
}

// As a Host header has it: IPv6 addresses in brackets.
std::string authority_of(const Endpoint& endpoint) {
  bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return cat(is_ipv6 ? "[" : "", endpoint.host, is_ipv6 ? "]" : "", ":", endpoint.port);
}

// MSG_NOSIGNAL: a server that closes must not end this program.
Result<void> send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno_error(errno, "send to the server");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

// The name counts; the status is for answers of proxies, which have none.
Code code_of(const std::string& name, int status) {
  for (Code code : {Code::invalid, Code::denied, Code::unsupported, Code::not_found, Code::conflict,
                    Code::exhausted, Code::io, Code::internal})
    if (name == to_string(code)) return code;
  switch (status) {
    case 400: return Code::invalid;
    case 401:
    case 403: return Code::denied;
    case 404:
    case 502: return Code::not_found;
    case 409: return Code::conflict;
    case 413:
    case 429:
    case 507: return Code::exhausted;
    default: return Code::internal;
  }
}

// What a refusing answer says.
Error refusal(int status, const std::string& body) {
  Result<Value> value = parse_json(body, "the answer");
  if (!value || !value.value().as_object())
    return {code_of("", status),
            cat("the server answered ", status, body.empty() ? "" : ": ",
                printable(body.substr(0, 300))),
            ""};
  const Value* inner = value.value().find("error");
  const Value& fields = inner && inner->as_object() ? *inner : value.value();
  std::string name = text_in(value.value(), "error"), message = text_in(fields, "message");
  if (name.empty()) name = text_in(fields, "code");
  std::string hint = status == 401 ? "set PADDOCK_API_KEY; make one with: paddock key create"
                                   : text_in(fields, "hint");
  return {code_of(name, status),
          message.empty() ? cat("the server answered ", status) : printable(message),
          printable(hint)};
}

}  // namespace

// A path or TLS is refused by name, because both would otherwise fail in a confusing way.
Result<Endpoint> parse_server_url(const std::string& text) {
  Result<net::HttpUrl> url = net::parse_http_url(text);
  if (!url || url.value().path != "/")
    return Error{Code::invalid,
                 cat("PADDOCK_URL: '", printable(text), "' is not http://HOST[:PORT]"),
                 "for example http://127.0.0.1:7070"};
  if (url.value().tls)
    return Error{Code::invalid,
                 cat("PADDOCK_URL: '", printable(text), "' is not http://HOST[:PORT]"),
                 "for TLS, put a tunnel or a proxy in between, or use the Python client"};
  return Endpoint{.host = url.value().host, .port = url.value().port};
}

// The order of the variables is that of the manual. Only a URL comes with a key: over the socket
// the server knows the user.
Result<Endpoint> find_endpoint(const std::function<const char*(const char*)>& variable,
                               bool is_root) {
  auto given = [&](const char* name) {
    const char* value = variable(name);
    return std::string(value ? value : "");
  };
  if (std::string url = given("PADDOCK_URL"); !url.empty()) {
    Endpoint endpoint = TRY(parse_server_url(url));
    endpoint.key = given("PADDOCK_API_KEY");
    if (endpoint.key.find_first_of("\r\n") != std::string::npos)
      return Error{Code::invalid, "PADDOCK_API_KEY: a key has no line breaks", ""};
    return endpoint;
  }
  if (std::string socket = given("PADDOCK_SOCKET"); !socket.empty())
    return Endpoint{.socket = socket};
  if (std::string state = given("PADDOCK_STATE"); !state.empty())
    return Endpoint{.socket = state + "/server.sock"};
  if (is_root) return Endpoint{.socket = "/run/paddock/server.sock"};
  if (std::string runtime = given("XDG_RUNTIME_DIR"); !runtime.empty())
    return Endpoint{.socket = runtime + "/paddock/server.sock"};
  return Endpoint{.socket = TRY(store::state_directory()) + "/server.sock"};
}

Result<Client> Client::find() {
  return Client(TRY(find_endpoint([](const char* name) -> const char* { return std::getenv(name); },
                                  ::geteuid() == 0)));
}

// The UNIX socket, or the first address of the host that accepts.
Result<Fd> Client::connect() const {
  if (!endpoint_.socket.empty()) {
    sockaddr_un address{.sun_family = AF_UNIX};
    if (endpoint_.socket.size() >= sizeof address.sun_path)
      return Error{Code::invalid,
                   cat("the socket's path is too long: ", printable(endpoint_.socket)), ""};
    std::memcpy(address.sun_path, endpoint_.socket.c_str(), endpoint_.socket.size() + 1);
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return errno_error(errno, "make a socket");
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return no_server(endpoint_.socket, errno);
    return fd;
  }
  std::string where = authority_of(endpoint_);
  addrinfo hints{.ai_socktype = SOCK_STREAM}, *found = nullptr;
  if (int status = ::getaddrinfo(endpoint_.host.c_str(), std::to_string(endpoint_.port).c_str(),
                                 &hints, &found);
      status != 0)
    return Error{Code::not_found, cat("look up ", printable(where), ": ", ::gai_strerror(status)),
                 "see PADDOCK_URL"};
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(found, ::freeaddrinfo);
  int number = ECONNREFUSED;
  for (addrinfo* each = found; each; each = each->ai_next) {
    Fd fd(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && ::connect(fd.get(), each->ai_addr, each->ai_addrlen) == 0) {
      int one = 1;
      (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      return fd;
    }
    number = errno;
  }
  return no_server(where, number);
}

// One connection for each request, so that a response never has to be read to its end.
Result<Response> Client::begin(const std::string& method, const std::string& path,
                               const std::vector<net::Header>& headers) const {
  Response response;
  response.connection_ = TRY(connect());
  net::RequestHead head{.method = method, .target = path, .version = "HTTP/1.1"};
  head.headers.push_back({"Host", endpoint_.host.empty() ? "localhost" : authority_of(endpoint_)});
  if (!endpoint_.key.empty()) head.headers.push_back({"X-API-Key", endpoint_.key});
  if (!agent_.empty()) head.headers.push_back({"X-Paddock-Agent", printable(agent_)});
  head.headers.insert(head.headers.end(), headers.begin(), headers.end());
  TRY(send_all(response.connection_.get(), net::to_bytes(head)));
  return response;
}

// A refusal becomes an error; only success returns a response.
Result<Response> Client::open(const std::string& method, const std::string& path,
                              const Value& body) const {
  std::string text = body.is_null() ? "" : to_json(body);
  std::vector<net::Header> headers;
  if (!text.empty()) headers.push_back({"Content-Type", "application/json"});
  if (!text.empty() || method == "POST" || method == "PUT")
    headers.push_back({"Content-Length", std::to_string(text.size())});
  Response response = TRY(begin(method, path, headers));
  // A server may refuse before it has read everything, and close: what it said counts then.
  Result<void> sent = send_all(response.connection_.get(), text);
  Result<void> answered = response.receive_head(method);
  if (!answered) return sent ? answered.error() : sent.error();
  if (response.status() / 100 != 2)
    return refusal(response.status(), TRY(response.read_all(1 << 20)));
  return response;
}

// An empty body is null, as after a DELETE.
Result<Value> Client::ask(const std::string& method, const std::string& path,
                          const Value& body) const {
  Response response = TRY(open(method, path, body));
  std::string text = TRY(response.read_all());
  if (text.empty()) return Value();
  return parse_json(text, "the server's answer");
}

// Pieces are taken from the source as they are sent. If sending fails, the answer is read all the
// same.
Result<Response> Client::send(const std::string& method, const std::string& path,
                              const Upload& upload) const {
  net::Header length = upload.size ? net::Header{"Content-Length", std::to_string(*upload.size)}
                                   : net::Header{"Transfer-Encoding", "chunked"};
  Response response =
      TRY(begin(method, path, {{"Content-Type", "application/octet-stream"}, length}));
  while (true) {
    std::string piece = TRY(upload.next());
    bool end = piece.empty();
    if (!upload.size) piece = net::make_chunk(piece);
    // A server that had enough says why in its answer.
    if (!send_all(response.connection_.get(), piece)) break;
    if (end) break;
  }
  TRY(response.receive_head(method));
  if (response.status() / 100 != 2)
    return refusal(response.status(), TRY(response.read_all(1 << 20)));
  return response;
}

// The key is random so that no cache in between could answer (RFC 6455).
Result<Response> Client::upgrade(const std::string& path) const {
  std::string key = base64(TRY(store::random_name(16)));
  Response response = TRY(begin("GET", path,
                                {{"Connection", "Upgrade"},
                                 {"Upgrade", "websocket"},
                                 {"Sec-WebSocket-Version", "13"},
                                 {"Sec-WebSocket-Key", key}}));
  TRY(response.receive_head("GET"));
  if (response.status() != 101) return refusal(response.status(), TRY(response.read_all(1 << 20)));
  const net::Header* accept = net::find_header(response.head().headers, "Sec-WebSocket-Accept");
  if (!accept || accept->value != net::websocket_accept(key))
    return Error{Code::internal, "the server did not switch to a WebSocket", ""};
  return response;
}

// Returns 0 at the end of the stream.
Result<size_t> Response::receive() {
  char buffer[kPiece];
  while (true) {
    ssize_t size = ::recv(connection_.get(), buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno_error(errno, "hear from the server");
    ahead_.append(buffer, static_cast<size_t>(size));
    return static_cast<size_t>(size);
  }
}

// Reads up to the end of the head; interim answers (100) are skipped.
Result<void> Response::receive_head(const std::string& method) {
  while (true) {
    size_t size = TRY(net::head_size(ahead_));
    if (size > 0) {
      head_ = TRY(net::parse_response(std::string_view(ahead_).substr(0, size), method));
      ahead_.erase(0, size);
      if (head_.status == 100) continue;
      body_ = net::BodyReader(head_.body);
      return {};
    }
    if (TRY(receive()) == 0)
      return Error{Code::io, "the server closed the connection without an answer", ""};
  }
}

// A connection that ends before the body does is an error, except where the end of the stream is
// the end of the body.
Result<std::string> Response::read() {
  while (!body_.done()) {
    std::string content;
    size_t taken = TRY(body_.take(ahead_, &content));
    ahead_.erase(0, taken);
    if (!content.empty()) return content;
    if (body_.done()) break;
    if (TRY(receive()) == 0) {
      body_.at_end_of_stream();
      if (!body_.done())
        return Error{Code::io, "the connection to the server ended in the middle",
                     "the sandbox may have ended: see paddock ls --all"};
    }
  }
  return std::string();
}

// The last line may lack its end, and is dropped then: the server ends every line.
Result<std::optional<std::string>> Response::line() {
  while (true) {
    size_t end = lines_.find('\n');
    if (end != std::string::npos) {
      std::string line = lines_.substr(0, end);
      lines_.erase(0, end + 1);
      return std::optional(std::move(line));
    }
    if (lines_.size() > kLongestLine)
      return Error{Code::exhausted, "the server sent a line without end", ""};
    std::string piece = TRY(read());
    if (piece.empty()) return std::optional<std::string>();
    lines_ += piece;
  }
}

// Bounded, because the answer is held in memory.
Result<std::string> Response::read_all(size_t most) {
  std::string text;
  while (true) {
    std::string piece = TRY(read());
    if (piece.empty()) return text;
    text += piece;
    if (text.size() > most) return Error{Code::exhausted, "the server's answer is too long", ""};
  }
}

// What was read beyond the head belongs to the protocol that follows.
Fd Response::take(std::string& ahead) {
  ahead = std::move(ahead_);
  return std::move(connection_);
}

// An id may be a name that the user typed, so it is encoded.
std::string sandbox_path(const std::string& id, std::string_view rest) {
  return cat("/v1/sandboxes/", percent_encode(id), rest);
}

namespace {

// The server writes a signal's name; an older one wrote its number.
int signal_number(const Value& outcome) {
  if (int64_t number = number_in(outcome, "signal")) return static_cast<int>(number);
  std::string name = text_in(outcome, "signal");
  for (int number = 1; number < NSIG; ++number)
    if (const char* known = ::sigabbrev_np(number); known && name == cat("SIG", known))
      return number;
  return SIGKILL;
}

// The limit by its name; a name that is not a limit is that of a rule of [monitor].
LimitHit limit_hit(const Value& outcome) {
  std::string name = text_in(outcome, "limit");
  LimitHit hit{.value = count_in(outcome, "value"), .peak = count_in(outcome, "peak")};
  for (size_t kind = 0; kind < kLimitCount; ++kind) {
    if (name != kLimits[kind].name) continue;
    hit.limit = static_cast<LimitKind>(kind);
    return hit;
  }
  hit.rule = name;
  hit.text = text_in(outcome, "rule");
  hit.exact_value = real_in(outcome, "value");
  hit.exact_peak = real_in(outcome, "peak");
  return hit;
}

}  // namespace

// An unknown kind is an error rather than a success: a newer server may know more.
Result<Outcome> read_outcome(const Value& value) {
  std::string kind = text_in(value, "kind");
  if (kind == "exited")
    return Outcome{.kind = Outcome::Kind::exited,
                   .code = static_cast<int>(number_in(value, "code")) & 0xff};
  if (kind == "signaled")
    return Outcome{.kind = Outcome::Kind::signaled, .signal = signal_number(value)};
  if (kind == "limit") return Outcome{.kind = Outcome::Kind::limit, .limit = limit_hit(value)};
  return Error{Code::internal, "the server did not say how the command ended", ""};
}

}  // namespace paddock::client
