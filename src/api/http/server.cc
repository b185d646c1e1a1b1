#include "api/http/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "api/http/all_routes.h"
#include "base/text.h"
#include "net/address.h"
#include "tools/toolbox.h"

namespace paddock::api {

namespace {

using io::Milliseconds;
using io::Task;

constexpr Milliseconds kFirstByte = 30'000;  // of a new connection
constexpr Milliseconds kIdle = 300'000;      // between two requests
constexpr Milliseconds kHeadTime = 15'000;   // from the first byte of a head to its last
constexpr Milliseconds kHandshake = 10'000;
constexpr size_t kReserved = 256;  // descriptors that connections may not have

// Raises the soft limit to the hard one. Gives how many descriptors there may be.
size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 20));
}

// By the kernel's credentials on a UNIX socket, by address otherwise.
Result<Peer> peer_of(int fd, bool local) {
  Peer peer;
  peer.local = local;
  if (local) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
      return errno_error(errno, "ask who connects");
    peer.uid = credentials.uid;
    peer.address = cat("uid ", credentials.uid);
    return peer;
  }
  net::SocketAddress address;
  address.size = sizeof address.storage;
  if (::getpeername(fd, address.get(), &address.size) != 0)
    return errno_error(errno, "ask who connects");
  std::optional<net::Endpoint> endpoint = net::from_socket_address(address);
  if (endpoint) peer.address = net::to_string(endpoint->address);
  return peer;
}

constexpr std::string_view kBusy =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: "
    "55\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    "{\"code\":503,\"message\":\"too many connections, try again\"}";

}  // namespace

// A client's connection, which several exchanges use one after the other.
struct Server::Connection {
  Connection(io::Loop& loop, Fd fd, Peer from)
      : stream(loop, std::move(fd)), peer(std::move(from)) {}
  io::Stream stream;
  Peer peer;
  bool idle = true, asked_before = false;
};

Server::Server(io::Loop& loop, ServerOptions options) : loop_(loop), options_(std::move(options)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(io::Loop& loop, ServerOptions options,
                                               std::vector<std::unique_ptr<Listener>> listeners) {
  std::unique_ptr<Server> server(new Server(loop, std::move(options)));
  size_t descriptors = raise_descriptor_limit();
  size_t most = descriptors > 2 * kReserved ? (descriptors - kReserved) / 2 : 32;
  if (server->options_.most_connections == 0 || server->options_.most_connections > most)
    server->options_.most_connections = most;
  if (!server->options_.certificate.empty())
    server->tls_ = TRY(net::TlsServer::create(server->options_.certificate, server->options_.key));
  server->listeners_ = std::move(listeners);
  server->reserve_ = TRY(open_file("/dev/null", O_RDONLY));
  server->router_.add(all_routes());
  server->audit_worker_ = TRY(AuditWorker::create(loop));
  return server;
}

void Server::start(manager::Manager& manager, manager::Keys& keys, templates::Builder& builder) {
  manager_ = &manager;
  keys_ = &keys;
  builder_ = &builder;
  start();
}

void Server::start() {
  started_ms_ = manager::wall_time_now();
  for (std::unique_ptr<Listener>& listener : listeners_) io::spawn(accept_all(*listener));
}

std::string Server::domain() const {
  if (!options_.domain.empty()) return options_.domain;
  for (const std::string& address : addresses())
    if (starts_with(address, "http")) return cat("localhost", address.substr(address.rfind(':')));
  return "localhost";
}

std::shared_ptr<void> Server::on_drain(std::function<void()> end) {
  auto place = drains_->insert(drains_->end(), std::move(end));
  return std::shared_ptr<void>(nullptr, [drains = drains_, place](void*) { drains->erase(place); });
}

std::vector<std::string> Server::addresses() const {
  std::vector<std::string> addresses;
  for (const std::unique_ptr<Listener>& listener : listeners_) addresses.push_back(listener->where);
  return addresses;
}

// ---- connections come

Task<void> Server::accept_all(Listener& listener) {
  while (!draining_) {
    Fd fd(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      (void)admit(listener, std::move(fd));
      continue;
    }
    if (errno == EAGAIN) {
      listener.socket.not_readable();
      (void)co_await listener.socket.readable();
      continue;
    }
    if (errno == EMFILE || errno == ENFILE) {
      shed(listener);
      co_await loop_.sleep(20);
    } else if (errno == ENOMEM || errno == ENOBUFS) {
      co_await loop_.sleep(100);
    } else if (errno == EINVAL || errno == EBADF) {
      co_return;
    }
  }
}

void Server::shed(Listener& listener) {
  reserve_.reset();
  Fd fd(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd && !listener.tls) (void)::send(fd.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL);
  fd.reset();
  reserve_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

bool Server::admit(Listener& listener, Fd fd) {
  Result<Peer> peer = peer_of(fd.get(), listener.local);
  if (!peer) return false;
  bool full = connections_.size() >= options_.most_connections;
  // One peer cannot have all of them. (Behind loopback stand many.)
  bool greedy =
      !listener.local && by_peer_[peer.value().address] >= options_.most_connections / 4 * 3;
  if (full || greedy) {
    if (!listener.tls) (void)::send(fd.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL);
    return false;
  }
  int on = 1;
  if (!listener.local) {
    (void)::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)::setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  auto connection = std::make_shared<Connection>(loop_, std::move(fd), std::move(peer.value()));
  io::spawn(serve(connection, listener.tls));
  return true;
}

Task<void> Server::serve(std::shared_ptr<Connection> connection, bool tls) {
  connections_.insert(connection.get());
  std::string address = connection->peer.address;
  ++by_peer_[address];
  bool goes_on = true;
  if (tls) {
    Result<net::TlsStream> stream = tls_->accept(connection->stream.socket.get());
    if (stream) connection->stream.tls.emplace(std::move(stream.value()));
    Milliseconds deadline = loop_.now() + kHandshake;
    if (stream) goes_on = co_await connection->stream.shake_hands(deadline);
    if (!stream || !goes_on) goes_on = false;
  }
  while (goes_on) {
    goes_on = co_await serve_one(connection);
    if (goes_on && !connection->stream.ahead.empty()) co_await loop_.yield();  // the others, too
  }
  co_await connection->stream.close_gently();
  connections_.erase(connection.get());
  if (--by_peer_[address] == 0) by_peer_.erase(address);
}

// ---- requests

Task<Result<std::string>> Server::read_head(std::shared_ptr<Connection> connection) {
  io::Stream& stream = connection->stream;
  Milliseconds deadline = loop_.now() + (connection->asked_before ? kIdle : kFirstByte);
  size_t looked_at = 0;
  bool begun = false;
  while (true) {
    if (!stream.ahead.empty() && !begun) {
      begun = true;
      connection->idle = false;
      deadline = loop_.now() + kHeadTime;
    }
    size_t from = looked_at > 3 ? looked_at - 3 : 0;
    Result<size_t> found = net::head_size(std::string_view(stream.ahead).substr(from));
    size_t end = found ? found.value() : 0;
    if (end == 0 && stream.ahead.size() >= net::kLargestHead)
      co_return Error{Code::exhausted, "read HTTP head: too many bytes", ""};
    if (end > 0) {
      std::string head = stream.ahead.substr(0, from + end);
      stream.ahead.erase(0, from + end);
      co_return head;
    }
    looked_at = stream.ahead.size();
    if (draining_ && !begun) co_return Error{Code::io, "", ""};
    io::Stream::More more = co_await stream.read(deadline, 64 << 10);
    if (more == io::Stream::More::yes) continue;
    if (more == io::Stream::More::late && begun)
      co_return Error{Code::io, "read HTTP head: it did not come in time", ""};
    co_return Error{Code::io, "", ""};
  }
}

Task<bool> Server::serve_one(std::shared_ptr<Connection> connection) {
  connection->idle = true;
  Result<std::string> bytes = co_await read_head(connection);
  connection->idle = false;
  connection->asked_before = true;
  if (!bytes && bytes.error().message.empty()) co_return false;  // it went, or stayed silent
  Result<net::RequestHead> head =
      bytes ? net::parse_request(bytes.value()) : Result<net::RequestHead>(bytes.error());
  if (!head) {
    net::RequestHead nothing;
    nothing.version = "HTTP/1.1";
    nothing.keep_alive = false;
    Exchange refused(connection->stream, std::move(nothing), connection->peer);
    int status = head.error().code == Code::exhausted ? 431
                 : head.error().code == Code::io      ? 408
                                                      : 400;
    Reply reply = refusal(status, head.error().message);
    (void)co_await refused.answer(std::move(reply));
    co_return false;
  }
  Exchange exchange(connection->stream, std::move(head.value()), connection->peer);
  if (draining_) exchange.close_after();
  if (options_.instead)
    co_await options_.instead(exchange);
  else
    co_await dispatch(exchange);
  bool again = co_await exchange.settle();
  co_return again && !draining_;
}

Task<void> Server::drain(Milliseconds patience) {
  draining_ = true;
  for (std::unique_ptr<Listener>& listener : listeners_) {
    if (listener->local) (void)::unlink(listener->where.substr(5).c_str());
    (void)::shutdown(listener->socket.get(), SHUT_RDWR);
  }
  for (const std::function<void()>& end : *drains_) end();
  for (Connection* connection : connections_)
    if (connection->idle) (void)::shutdown(connection->stream.socket.get(), SHUT_RD);
  Milliseconds deadline = loop_.now() + patience;
  while (!connections_.empty() && loop_.now() < deadline) co_await loop_.sleep(20);
  for (Connection* connection : connections_) connection->stream.cut();
  for (int turns = 0; !connections_.empty() && turns < 50; ++turns) co_await loop_.sleep(10);
  if (toolbox_) co_await toolbox_->stop();
}

}  // namespace paddock::api
