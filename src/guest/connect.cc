// The operation `connect`: bytes to and from a port that something inside listens on.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "guest/operations.h"
#include "guest/request.h"

namespace paddock::guest {

namespace {

constexpr size_t kPiece = 32 << 10;
// How long a connection over the loopback interface may take before the port counts as closed.
constexpr io::Milliseconds kPatienceMs = 5000;

// What both directions share.
struct Connected {
  CallPointer call;
  io::Socket socket;
};

// Connects to `port` on the loopback address of that family. On failure the next family may be
// tried with the same `connected`, whose socket is then replaced.
io::Task<bool> dial(io::Loop& loop, Connected& connected, int family, uint16_t port) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) co_return false;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  const auto* address =
      family == AF_INET ? reinterpret_cast<sockaddr*>(&four) : reinterpret_cast<sockaddr*>(&six);
  socklen_t size = family == AF_INET ? sizeof four : sizeof six;
  int status = ::connect(fd.get(), address, size);
  if (status != 0 && errno != EINPROGRESS) co_return false;
  connected.socket.open(loop, std::move(fd));
  if (status != 0) {
    connected.socket.not_writable();
    bool in_time = co_await connected.socket.writable(loop.now() + kPatienceMs);
    if (!in_time) co_return false;
  }
  int error = 0;
  socklen_t length = sizeof error;
  (void)::getsockopt(connected.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) co_return false;
  int on = 1;
  (void)::setsockopt(connected.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  co_return true;
}

// Passes on what the server sends until it ends its input, which becomes a half-close: the program
// may still answer.
io::Task<void> pass_in(std::shared_ptr<Connected> connected) {
  while (true) {
    std::optional<std::string> bytes = co_await connected->call->input();
    if (!bytes) break;
    for (size_t at = 0; at < bytes->size() && !connected->call->cancelled();) {
      ssize_t count =
          ::send(connected->socket.get(), bytes->data() + at, bytes->size() - at, MSG_NOSIGNAL);
      if (count > 0) at += static_cast<size_t>(count);
      if (count > 0 || errno == EINTR) continue;
      if (errno != EAGAIN) co_return;  // the reading side notices, too
      connected->socket.not_writable();
      (void)co_await connected->socket.writable();
    }
  }
  (void)::shutdown(connected->socket.get(), connected->call->cancelled() ? SHUT_RDWR : SHUT_WR);
}

// Passes on what the program sends. The server's credit holds it back: nothing is read while send()
// waits.
io::Task<void> pass_out(io::Loop& loop, std::shared_ptr<Connected> connected) {
  std::string piece(kPiece, '\0');
  while (!connected->call->cancelled()) {
    ssize_t count = ::recv(connected->socket.get(), piece.data(), piece.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      connected->socket.not_readable();
      (void)co_await connected->socket.readable();
      continue;
    }
    if (count <= 0) break;
    std::string_view bytes(piece.data(), static_cast<size_t>(count));
    bool sent = co_await connected->call->send(bytes, kOutput);
    if (!sent) break;
    co_await loop.yield();
  }
}

}  // namespace

Answer connect_port(Guest& guest, CallPointer call) {
  Result<std::optional<int64_t>> port = number_of(call->request, "port", 1, 65535);
  if (!port) co_return port.error();
  if (!port.value()) co_return refuse(Code::invalid, "'port' is missing");
  auto connected = std::make_shared<Connected>();
  connected->call = call;
  uint16_t number = static_cast<uint16_t>(*port.value());
  bool open = co_await dial(guest.loop, *connected, AF_INET, number);
  if (!open) open = co_await dial(guest.loop, *connected, AF_INET6, number);
  if (!open) co_return refuse(Code::not_found, "port is not open");

  // A cancelled call wakes both directions by shutting the socket down. A weak pointer, since the
  // call would otherwise hold itself.
  std::weak_ptr<Connected> weak = connected;
  call->on_change = [weak] {
    std::shared_ptr<Connected> connected = weak.lock();
    if (connected && connected->call->cancelled())
      (void)::shutdown(connected->socket.get(), SHUT_RDWR);
  };
  Value told;
  told.set("connected", true);
  bool heard = co_await call->message(std::move(told));
  if (heard) {
    io::spawn(pass_in(connected));
    co_await pass_out(guest.loop, connected);
  }
  // Wakes the other direction, which holds what it needs.
  (void)::shutdown(connected->socket.get(), SHUT_RDWR);
  call->on_change = nullptr;
  co_return Value();
}

}  // namespace paddock::guest
