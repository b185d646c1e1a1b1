#include "egress/stream.h"

#include <sys/socket.h>

#include <algorithm>

#include "egress/gate.h"

namespace paddock::egress {

namespace {

// What receivers have not taken yet waits here. If that is much, less is read at a time.
constexpr size_t kMostHeld = 16 << 20, kSmallBlock = 16 << 10;
// Bytes of all connections together that wait for slow receivers.
size_t held = 0;
struct Held {
  explicit Held(size_t size) : size(size) { held += size; }
  Held(Held&&) = delete;
  ~Held() { held -= size; }
  size_t size;
};
size_t room() { return held < kMostHeld ? io::scratch_buffer().size() : kSmallBlock; }

constexpr size_t kTurnBytes = 4 << 20;  // what one direction moves before others have a turn

}  // namespace

Stream::Stream(Gate& gate, Side side) : io::Stream(gate.loop), gate_(gate), side_(side) {}

// The client sends up and is sent down; the server's side is the other way round.
size_t Stream::most_at_once(Direction direction, size_t most) {
  if (direction == Direction::in)
    return side_ == Side::client ? gate_.block_up(most) : gate_.block_down(most);
  return side_ == Side::client ? gate_.block_down(most) : most;
}

Milliseconds Stream::moved(Direction direction, size_t bytes) {
  if (side_ != Side::client) return 0;
  (direction == Direction::in ? up : down) += bytes;
  return direction == Direction::in ? gate_.moved_up(bytes) : gate_.moved_down(bytes);
}

Task<Stream::More> Stream::read(Milliseconds deadline) {
  return io::Stream::read(deadline, room());
}

// Counted as held until the receiver has taken them.
Task<bool> Stream::write(std::string_view bytes) {
  Held holding(bytes.size());
  bool written = co_await io::Stream::write(bytes);
  co_return written;
}

void Stream::reset() {
  if (socket) io::reset_at_close(socket.get());
}

// Any error counts as the end: there is nothing to read any more.
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

namespace {

// Sends what a slower receiver did not take at once. False: it takes nothing any more.
Task<bool> send_rest(Stream& to, std::string rest) {
  Held holding(rest.size());
  for (size_t sent = 0; sent < rest.size();) {
    ssize_t more = ::send(to.socket.get(), rest.data() + sent, rest.size() - sent, MSG_NOSIGNAL);
    if (more > 0) {
      sent += static_cast<size_t>(more);
    } else if (errno == EAGAIN) {
      to.socket.not_writable();
      (void)co_await to.socket.writable();
    } else {
      co_return false;
    }
  }
  co_return true;
}

// One direction of plain sockets: no copy but through the buffer, no allocation but when the
// receiver is slower.
Task<void> pump(Gate& gate, Stream& from, Stream& to, bool up) {
  char* const buffer = io::scratch_buffer().data();
  size_t in_a_row = 0;
  while (true) {
    (void)co_await from.socket.readable();
    if (from.is_cut()) co_return;
    size_t most = up ? gate.block_up(room()) : gate.block_down(room());
    ssize_t received = ::recv(from.socket.get(), buffer, most, 0);
    if (received < 0 && errno == EAGAIN) {
      from.socket.not_readable();
      continue;
    }
    if (received < 0) {
      to.cut();
      co_return;
    }
    if (received == 0) break;
    size_t size = static_cast<size_t>(received);
    if (size < most) from.socket.read_short();
    (up ? from.up : to.down) += size;
    Milliseconds pause = up ? gate.moved_up(size) : gate.moved_down(size);
    ssize_t first = ::send(to.socket.get(), buffer, size, MSG_NOSIGNAL);
    size_t sent = first > 0 ? static_cast<size_t>(first) : 0;
    if (sent < size) {
      std::string rest(buffer + sent, size - sent);
      bool taken = co_await send_rest(to, std::move(rest));
      if (!taken) {
        from.cut();
        co_return;
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
