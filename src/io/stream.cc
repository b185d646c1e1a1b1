#include "io/stream.h"

#include <sys/socket.h>

#include <algorithm>

namespace paddock::io {

namespace {

constexpr size_t kBuffer = 2 << 20;
char buffer[kBuffer];

// How long, and for how many bytes, an orderly end may take. A peer that goes on sending must not
// keep the connection for ever.
constexpr Milliseconds kGentleMs = 1000;
constexpr size_t kGentleBytes = 4 << 20;

// The point in time that a patience means; for ever stays for ever.
Milliseconds after(Loop& loop, Milliseconds patience) {
  return patience == Wait::kForever ? patience : loop.now() + patience;
}

}  // namespace

std::span<char> scratch_buffer() { return buffer; }

Task<bool> wait_for_tls(Socket& socket, net::TlsStream::Status status, Milliseconds deadline) {
  bool in_time;
  if (status == net::TlsStream::Status::want_write) {
    socket.not_writable();
    in_time = co_await socket.writable(deadline);
  } else {
    socket.not_readable();
    in_time = co_await socket.readable(deadline);
  }
  co_return in_time;
}

Task<bool> shake_tls_hands(Socket& socket, net::TlsStream& tls, Milliseconds deadline) {
  while (true) {
    net::TlsStream::Done done = tls.handshake();
    if (done.status == net::TlsStream::Status::ok) co_return true;
    if (done.status != net::TlsStream::Status::want_read &&
        done.status != net::TlsStream::Status::want_write)
      co_return false;
    bool in_time = co_await wait_for_tls(socket, done.status, deadline);
    if (!in_time) co_return false;
  }
}

void reset_at_close(int socket) {
  linger off{1, 0};
  (void)::setsockopt(socket, SOL_SOCKET, SO_LINGER, &off, sizeof off);
}

// Without reading the rest, the kernel would answer what still comes with a reset, and the peer
// could lose what it has not read yet.
Task<void> close_gently(Loop& loop, Socket& socket, std::optional<net::TlsStream>& tls) {
  if (tls) (void)tls->shut_down();
  (void)::shutdown(socket.get(), SHUT_WR);
  Milliseconds deadline = loop.now() + kGentleMs;
  for (size_t drained = 0; drained < kGentleBytes;) {
    ssize_t received = ::recv(socket.get(), buffer, kBuffer, MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) {
      socket.not_readable();
      bool in_time = co_await socket.readable(deadline);
      if (!in_time) co_return;
      continue;
    }
    if (received <= 0) co_return;
    drained += static_cast<size_t>(received);
  }
}

Task<Stream::More> Stream::read(Milliseconds deadline, size_t most) {
  most = std::clamp<size_t>(most_at_once(Direction::in, most), 1, kBuffer);
  while (true) {
    if (cut_) co_return More::failed;
    size_t count = 0;
    if (tls) {
      net::TlsStream::Done done = tls->read(buffer, most);
      if (done.status == net::TlsStream::Status::closed) co_return More::end;
      if (done.status == net::TlsStream::Status::failed) co_return More::failed;
      if (done.status != net::TlsStream::Status::ok) {
        bool in_time = co_await wait_for_tls(socket, done.status, deadline);
        if (!in_time) co_return More::late;
        continue;
      }
      count = done.bytes;
    } else {
      ssize_t received = ::recv(socket.get(), buffer, most, MSG_DONTWAIT);
      if (received < 0 && errno == EINTR) continue;
      if (received < 0 && errno == EAGAIN) {
        socket.not_readable();
        bool in_time = co_await socket.readable(deadline);
        if (!in_time) co_return More::late;
        continue;
      }
      if (received < 0) co_return More::failed;
      if (received == 0) co_return More::end;
      count = static_cast<size_t>(received);
      if (count < most) socket.read_short();
    }
    ahead.append(buffer, count);
    if (Milliseconds pause = moved(Direction::in, count); pause > 0) co_await loop_.sleep(pause);
    co_return More::yes;
  }
}

Task<bool> Stream::write(std::string_view bytes, Milliseconds patience) {
  while (!bytes.empty()) {
    if (cut_) co_return false;
    std::string_view piece = bytes.substr(0, most_at_once(Direction::out, bytes.size()));
    size_t count = 0;
    if (tls) {
      net::TlsStream::Done done = tls->write(piece);
      if (done.status == net::TlsStream::Status::closed ||
          done.status == net::TlsStream::Status::failed)
        co_return false;
      if (done.status != net::TlsStream::Status::ok) {
        Milliseconds deadline = after(loop_, patience);
        bool in_time = co_await wait_for_tls(socket, done.status, deadline);
        if (!in_time) co_return false;
        continue;
      }
      count = done.bytes;
    } else {
      ssize_t sent = ::send(socket.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN) {
        socket.not_writable();
        bool in_time = co_await socket.writable(after(loop_, patience));
        if (!in_time) co_return false;
        continue;
      }
      if (sent < 0) co_return false;
      count = static_cast<size_t>(sent);
    }
    bytes.remove_prefix(count);
    if (Milliseconds pause = moved(Direction::out, count); pause > 0) co_await loop_.sleep(pause);
  }
  co_return !cut_;
}

Task<bool> Stream::shake_hands(Milliseconds deadline) {
  bool shaken = co_await shake_tls_hands(socket, *tls, deadline);
  co_return shaken && !cut_;
}

Task<void> Stream::close_gently() {
  if (cut_) co_return;
  co_await io::close_gently(loop_, socket, tls);
}

// Linger of zero turns the close into a reset; the shutdown wakes waiters on both sides.
void Stream::cut() {
  if (cut_) return;
  cut_ = true;
  if (!socket) return;
  reset_at_close(socket.get());
  (void)::shutdown(socket.get(), SHUT_RDWR);
}

}  // namespace paddock::io
