#include "egress/stream.h"

#include <sys/socket.h>

#include <algorithm>

#include "egress/gate.h"

namespace paddock::egress {

namespace {

constexpr size_t kBuffer = 2 << 20;
char buffer[kBuffer];  // of the whole process: what is in it does not outlive a turn

// What receivers have not taken yet waits here. When that is much, less is read at a time.
constexpr size_t kMostHeld = 16 << 20, kSmallBlock = 16 << 10;
size_t held = 0;
struct Held {
  explicit Held(size_t size) : size(size) { held += size; }
  Held(Held&&) = delete;
  ~Held() { held -= size; }
  size_t size;
};
size_t room() { return held < kMostHeld ? kBuffer : kSmallBlock; }

constexpr size_t kTurnBytes = 4 << 20;  // that one direction moves before the others have a turn

}  // namespace

Milliseconds Stream::count(size_t bytes, bool reading) {
  if (side_ != Side::client) return 0;
  (reading ? up : down) += bytes;
  return reading ? gate_.moved_up(bytes) : gate_.moved_down(bytes);
}

Task<Stream::More> Stream::read(Milliseconds deadline) {
  size_t most = side_ == Side::client ? gate_.block_up(room()) : gate_.block_down(room());
  while (true) {
    if (ended) co_return More::failed;
    size_t count = 0;
    if (tls) {
      net::TlsStream::Done done = tls->read(buffer, most);
      if (done.status == net::TlsStream::Status::closed) co_return More::end;
      if (done.status == net::TlsStream::Status::failed) co_return More::failed;
      if (done.status != net::TlsStream::Status::ok) {
        bool in_time = co_await io::wait_for_tls(socket, done.status, deadline);
        if (!in_time) co_return More::late;
        continue;
      }
      count = done.bytes;
    } else {
      ssize_t received = ::recv(socket.get(), buffer, most, 0);
      if (received < 0 && errno == EAGAIN) {
        socket.not_readable();
        bool in_time = co_await socket.readable(deadline);
        if (!in_time) co_return More::late;
        continue;
      }
      if (received < 0) co_return More::failed;
      if (received == 0) co_return More::end;
      count = static_cast<size_t>(received);
    }
    ahead.append(buffer, count);
    Milliseconds pause = this->count(count, true);
    if (pause > 0) co_await gate_.loop.sleep(pause);
    co_return More::yes;
  }
}

Task<bool> Stream::write(std::string_view bytes) {
  Held holding(bytes.size());
  while (!bytes.empty()) {
    if (ended) co_return false;
    size_t most = side_ == Side::client ? gate_.block_down(bytes.size()) : bytes.size();
    size_t count = 0;
    if (tls) {
      net::TlsStream::Done done = tls->write(bytes.substr(0, most));
      if (done.status == net::TlsStream::Status::closed ||
          done.status == net::TlsStream::Status::failed)
        co_return false;
      if (done.status != net::TlsStream::Status::ok) {
        (void)co_await io::wait_for_tls(socket, done.status, Wait::kForever);
        continue;
      }
      count = done.bytes;
    } else {
      ssize_t sent = ::send(socket.get(), bytes.data(), std::min(most, bytes.size()), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) {
        socket.not_writable();
        (void)co_await socket.writable();
        continue;
      }
      if (sent < 0) co_return false;
      count = static_cast<size_t>(sent);
    }
    bytes.remove_prefix(count);
    Milliseconds pause = this->count(count, false);
    if (pause > 0) co_await gate_.loop.sleep(pause);
  }
  co_return true;
}

void Stream::reset() {
  if (socket) io::reset_at_close(socket.get());
}

Stream::Seen Stream::peek() {
  char byte;
  ssize_t count = ::recv(socket.get(), &byte, 1, MSG_PEEK);
  if (count > 0) return Seen::bytes;
  if (count == 0 || errno != EAGAIN) return Seen::end;
  socket.not_readable();
  return Seen::nothing;
}

std::string Stream::peek_at(size_t most) {
  std::string bytes(most, '\0');
  ssize_t count = ::recv(socket.get(), bytes.data(), most, MSG_PEEK);
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

void Stream::end() {
  ended = true;
  if (!socket) return;
  reset();
  (void)::shutdown(socket.get(), SHUT_RDWR);
}

namespace {

// One direction of plain sockets: no copy but through the buffer, no allocation but when the
// receiver is slower.
Task<void> pump(Gate& gate, Stream& from, Stream& to, bool up) {
  size_t in_a_row = 0;
  while (true) {
    (void)co_await from.socket.readable();
    if (from.ended) co_return;
    size_t most = up ? gate.block_up(room()) : gate.block_down(room());
    ssize_t received = ::recv(from.socket.get(), buffer, most, 0);
    if (received < 0 && errno == EAGAIN) {
      from.socket.not_readable();
      continue;
    }
    if (received < 0) {
      to.end();
      co_return;
    }
    if (received == 0) break;
    size_t size = static_cast<size_t>(received), sent = 0;
    if (size < most) from.socket.read_short();
    (up ? from.up : to.down) += size;
    Milliseconds pause = up ? gate.moved_up(size) : gate.moved_down(size);
    ssize_t first = ::send(to.socket.get(), buffer, size, MSG_NOSIGNAL);
    if (first > 0) sent = static_cast<size_t>(first);
    if (sent < size) {
      std::string rest(buffer + sent, size - sent);
      Held holding(rest.size());
      sent = 0;
      while (sent < rest.size()) {
        ssize_t more =
            ::send(to.socket.get(), rest.data() + sent, rest.size() - sent, MSG_NOSIGNAL);
        if (more > 0) {
          sent += static_cast<size_t>(more);
        } else if (errno == EAGAIN) {
          to.socket.not_writable();
          (void)co_await to.socket.writable();
        } else {
          from.end();
          co_return;
        }
      }
    }
    in_a_row += size;
    if (pause > 0) {
      co_await gate.loop.sleep(pause);
    } else if (in_a_row >= kTurnBytes) {
      in_a_row = 0;
      co_await gate.loop.yield();
    }
  }
  (void)::shutdown(to.socket.get(), SHUT_WR);
}

}  // namespace

Task<void> relay(Gate& gate, Stream& client, Stream& server) {
  Both directions(pump(gate, client, server, true), pump(gate, server, client, false));
  co_await directions;
}

}  // namespace paddock::egress
