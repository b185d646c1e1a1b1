#include "io/http_client.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "net/address.h"
#include "net/trust_store.h"

namespace paddock::io {

namespace {

constexpr size_t kMostAddresses = 8;
constexpr Milliseconds kKept = 4'000;  // many servers close what was idle for five seconds
constexpr Milliseconds kLongestDial = 10'000, kWritePatience = 30'000;
constexpr int kMostInterim = 8;  // "early hints" and the like before an answer

// Every error names the server, as one process may talk to several.
Error failed(const net::HttpUrl& url, const std::string& why, const std::string& hint = "") {
  return Error{Code::io, cat("reach ", printable(url.authority), ": ", why), hint};
}

// Blocks, so it runs on the resolver's thread.
Result<std::vector<net::Address>> look_up(const std::string& host) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (error) return Error{Code::io, ::gai_strerror(error), ""};
  std::vector<net::Address> addresses;
  for (addrinfo* each = found; each && addresses.size() < kMostAddresses; each = each->ai_next) {
    net::SocketAddress address;
    if (each->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    if (std::optional<net::Endpoint> endpoint = net::from_socket_address(address))
      addresses.push_back(endpoint->address);
  }
  ::freeaddrinfo(found);
  return addresses;
}

// Header values may come from configuration or from a client: a line break would add headers of its
// own.
bool is_clean(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos;
}

}  // namespace

// What a client shares with its exchanges, which may outlive it.
struct HttpExchange::Shared {
  Shared(Loop& on, HttpClientOptions with) : loop(on), options(std::move(with)) {}
  struct Idle {
    std::unique_ptr<Stream> stream;
    Milliseconds since = 0;
  };
  Loop& loop;
  HttpClientOptions options;
  std::optional<net::TlsClient> tls;
  std::unique_ptr<Worker> resolver;
  std::vector<Idle> idle;
  size_t in_use = 0;
  bool closed = false;

  std::unique_ptr<Stream> take_idle();
  // Sets `exchange.dialling_` while it waits for a connection.
  static Task<Result<std::unique_ptr<Stream>>> dial(std::shared_ptr<Shared> self,
                                                    HttpExchange& exchange, Milliseconds deadline);
  Task<int> connect(Stream& stream, const net::SocketAddress& to, Milliseconds until);
};

// A connection that its server has closed meanwhile, or sent something on, is of no use.
std::unique_ptr<Stream> HttpExchange::Shared::take_idle() {
  while (!idle.empty()) {
    Idle last = std::move(idle.back());
    idle.pop_back();
    char byte;
    bool is_quiet =
        ::recv(last.stream->socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
    if (is_quiet && loop.now() - last.since < kKept) return std::move(last.stream);
  }
  return nullptr;
}

// Returns 0, or the errno that says why it failed.
Task<int> HttpExchange::Shared::connect(Stream& stream, const net::SocketAddress& to,
                                        Milliseconds until) {
  int error = ::connect(stream.socket.get(), to.get(), to.size) == 0 ? 0 : errno;
  if (error != EINPROGRESS) co_return error;
  stream.socket.not_writable();
  bool in_time = co_await stream.socket.writable(until);
  if (!in_time) co_return ETIMEDOUT;
  socklen_t size = sizeof error;
  if (::getsockopt(stream.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0 && stream.is_cut()) error = ECANCELED;
  co_return error;
}

// Tries one address after the other. Each one is judged right before it is dialled, and the socket
// goes to that very address: a name that resolves differently the next time gains nothing.
Task<Result<std::unique_ptr<Stream>>> HttpExchange::Shared::dial(std::shared_ptr<Shared> self,
                                                                 HttpExchange& exchange,
                                                                 Milliseconds deadline) {
  const net::HttpUrl& url = self->options.url;
  Result<std::vector<net::Address>> found = std::vector<net::Address>();
  if (std::optional<net::Address> literal = net::parse_address(url.host)) {
    found.value().push_back(*literal);
  } else {
    std::function<void()> work = [&found, &url] { found = look_up(url.host); };
    co_await self->resolver->run(work);
  }
  if (!found) co_return failed(url, found.error().message);
  Error last = failed(url, "it has no address");
  // The error of the last address is the one that is returned.
  for (const net::Address& address : found.value()) {
    if (exchange.cut_) co_return failed(url, "it was given up");
    const char* kind = self->options.private_addresses ? nullptr : net::not_public(address);
    if (kind) {
      last = Error{Code::denied,
                   cat("reach ", printable(url.authority), ": ", net::to_string(address),
                       " is not public (", kind, ")"),
                   "private_addresses = true allows it, for a server of your own"};
      continue;
    }
    Fd fd(
        ::socket(address.ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) {
      last = errno_error(errno, "make a socket");
      continue;
    }
    int on = 1;
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto stream = std::make_unique<Stream>(self->loop, std::move(fd));
    Milliseconds until = std::min(deadline, self->loop.now() + kLongestDial);
    net::SocketAddress to = net::to_socket_address({address, url.port});
    exchange.dialling_ = stream.get();
    int error = co_await self->connect(*stream, to, until);
    bool shaken = false;
    if (error == 0 && url.tls) {
      Result<net::TlsStream> wrapped = self->tls->connect(stream->socket.get(), url.host);
      if (wrapped) {
        stream->tls.emplace(std::move(wrapped).value());
        shaken = co_await stream->shake_hands(until);
      } else {
        last = std::move(wrapped.error());
      }
    }
    exchange.dialling_ = nullptr;
    if (error)
      last = failed(url, std::strerror(error));
    else if (!url.tls || shaken)
      co_return std::move(stream);
    else if (stream->tls)
      last = failed(url, cat("TLS: ", stream->tls->why()));
  }
  co_return last;
}

HttpExchange::~HttpExchange() {
  if (shared_ && stream_) --shared_->in_use;
}

void HttpExchange::let_go() {
  if (!stream_) return;
  --shared_->in_use;
  // Bytes after the end of a response belong to nothing, and a connection with any is not used
  // again.
  bool is_whole = body_.done() && head.keep_alive && stream_->ahead.empty() && !stream_->is_cut() &&
                  !shared_->closed;
  Milliseconds now = shared_->loop.now();
  std::erase_if(shared_->idle,
                [now](const Shared::Idle& each) { return now - each.since >= kKept; });
  if (is_whole) shared_->idle.push_back({std::move(stream_), now});
  stream_.reset();
}

void HttpExchange::cut() {
  cut_ = true;
  if (dialling_) dialling_->cut();
  if (stream_) stream_->cut();
  if (!reading_) let_go();
}

Task<Stream::More> HttpExchange::read(std::string& content, Milliseconds deadline) {
  Stream::More more = Stream::More::yes;
  size_t before = content.size();
  reading_ = true;
  while (more == Stream::More::yes && stream_) {
    Result<size_t> taken = body_.take(stream_->ahead, &content);
    if (!taken || stream_->is_cut()) {
      more = Stream::More::failed;
      break;
    }
    stream_->ahead.erase(0, taken.value());
    if (content.size() > before) break;
    if (body_.done()) {
      more = Stream::More::end;
      break;
    }
    more = co_await stream_->read(deadline);
    if (more != Stream::More::end) continue;
    body_.at_end_of_stream();
    if (!body_.done()) more = Stream::More::failed;
  }
  reading_ = false;
  if (!stream_ && more == Stream::More::yes && content.size() == before)
    more = body_.done() ? Stream::More::end : Stream::More::failed;
  if (body_.done() || more != Stream::More::yes) let_go();
  co_return more;
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(Loop& loop, HttpClientOptions options) {
  if (!options.url.tls && !options.private_addresses)
    return Error{Code::denied,
                 cat("http://", printable(options.url.authority),
                     ": what is sent could be read and changed on its way"),
                 "use https, or private_addresses = true for a server of your own"};
  auto shared = std::make_shared<HttpExchange::Shared>(loop, std::move(options));
  const HttpClientOptions& with = shared->options;
  if (with.url.tls)
    shared->tls = TRY(
        net::TlsClient::create(with.trust.empty() ? TRY(net::read_system_bundle()) : with.trust));
  if (!net::parse_address(with.url.host)) shared->resolver = TRY(Worker::create(loop, 1));
  return std::unique_ptr<HttpClient>(new HttpClient(std::move(shared)));
}

HttpClient::~HttpClient() {
  shared_->closed = true;
  shared_->idle.clear();
}

const net::HttpUrl& HttpClient::url() const { return shared_->options.url; }

Task<Result<void>> HttpClient::send(HttpRequest request, std::shared_ptr<HttpExchange> exchange,
                                    Milliseconds deadline) {
  std::shared_ptr<HttpExchange::Shared> shared = shared_;
  const net::HttpUrl& url = shared->options.url;
  std::string bytes = cat(request.method, " ", url.path, " HTTP/1.1\r\nHost: ", url.authority,
                          "\r\nUser-Agent: paddock/", PADDOCK_VERSION, "\r\n");
  for (const net::Header& header : request.headers) {
    if (!is_clean(header.name) || !is_clean(header.value))
      co_return failed(url, cat("the header ", printable(header.name), " cannot be sent"));
    bytes += cat(header.name, ": ", header.value, "\r\n");
  }
  if (!request.body.empty() || request.method == "POST")
    bytes += cat("Content-Length: ", request.body.size(), "\r\n");
  bytes += "\r\n";
  bytes += request.body;
  if (shared->in_use >= shared->options.most_connections)
    co_return failed(url, cat(shared->in_use, " connections are in use"));
  exchange->shared_ = shared;
  ++shared->in_use;
  std::unique_ptr<Stream> stream = shared->take_idle();
  if (!stream) {
    Result<std::unique_ptr<Stream>> dialled =
        co_await HttpExchange::Shared::dial(shared, *exchange, deadline);
    if (!dialled) {
      --shared->in_use;
      co_return std::move(dialled.error());
    }
    stream = std::move(dialled).value();
  }
  exchange->stream_ = std::move(stream);
  exchange->reading_ = true;
  Result<void> answered = co_await answer(*exchange, bytes, request.method, deadline);
  exchange->reading_ = false;
  if (!answered) exchange->let_go();
  co_return answered;
}

// Writing may fail although the server has already answered (413, for example), so the response is
// read in any case.
Task<Result<void>> HttpClient::answer(HttpExchange& exchange, std::string_view bytes,
                                      std::string method, Milliseconds deadline) {
  const net::HttpUrl& url = exchange.shared_->options.url;
  Stream& on = *exchange.stream_;
  if (exchange.cut_) on.cut();
  Milliseconds patience = std::clamp<Milliseconds>(deadline - on.loop().now(), 1, kWritePatience);
  (void)co_await on.write(bytes, patience);  // a server that refuses early answers all the same
  for (int interim = 0; interim <= kMostInterim;) {
    Result<size_t> size = net::head_size(on.ahead);
    if (!size) co_return failed(url, size.error().message);
    if (size.value() == 0) {
      Stream::More more = co_await on.read(deadline);
      if (more == Stream::More::late) co_return failed(url, "there was no answer in time");
      if (more != Stream::More::yes)
        co_return failed(url, "it closed the connection without an answer");
      continue;
    }
    Result<net::ResponseHead> head =
        net::parse_response(std::string_view(on.ahead).substr(0, size.value()), method);
    if (!head) co_return failed(url, cat("its answer is not HTTP: ", head.error().message));
    on.ahead.erase(0, size.value());
    if (head.value().status == 101) co_return failed(url, "it wants to speak another protocol");
    if (head.value().status < 200) {
      ++interim;
      co_await on.loop().yield();
      continue;
    }
    exchange.head = std::move(head).value();
    exchange.body_ = net::BodyReader(exchange.head.body);
    co_return Result<void>();
  }
  co_return failed(url, cat("more than ", kMostInterim, " interim answers (1xx) came before one"));
}

}  // namespace paddock::io
