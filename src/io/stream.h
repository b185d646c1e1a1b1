// One connection as bytes, plain or under TLS.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "net/tls.h"

namespace paddock::io {

// A buffer of the whole process, for what is read in one step: its content does not outlive that.
std::span<char> scratch_buffer();

// Waits for what TLS needs before it can go on: `status` is want_read or want_write.
Task<bool> wait_for_tls(Socket& socket, net::TlsStream::Status status, Milliseconds deadline);
Task<bool> shake_tls_hands(Socket& socket, net::TlsStream& tls, Milliseconds deadline);
void reset_at_close(int socket);  // the other side gets a reset instead of an ordinary end
// An ordinary end that lets the other side read what was sent, also while it is still sending; for
// a second at most.
Task<void> close_gently(Loop& loop, Socket& socket, std::optional<net::TlsStream>& tls);

class Stream {
 public:
  explicit Stream(Loop& loop) : loop_(loop) {}  // its socket is opened later
  Stream(Loop& loop, Fd fd) : socket(loop, std::move(fd)), loop_(loop) {}
  virtual ~Stream() = default;

  Socket socket;
  std::optional<net::TlsStream> tls;
  std::string ahead;  // read and not used yet

  enum class More { yes, end, failed, late };
  // Reads what there is, at least a byte and at most about `most`, and adds it to what is ahead.
  Task<More> read(Milliseconds deadline = Wait::kForever, size_t most = 256 << 10);
  // All of it, or false; the bytes must stay where they are meanwhile. The deadline is for each
  // step forward.
  Task<bool> write(std::string_view bytes, Milliseconds patience = Wait::kForever);
  Task<bool> shake_hands(Milliseconds deadline);  // TLS
  Task<void> close_gently();

  // Resets the connection. Waiters are woken; reads and writes fail from now on.
  void cut();
  bool is_cut() const { return cut_; }
  Loop& loop() { return loop_; }

  // Overridden by streams that are metered.
 protected:
  // For streams that are metered: how many bytes may move at once, and how long to wait after some
  // have moved.
  enum class Direction : uint8_t { in, out };
  virtual size_t most_at_once(Direction, size_t most) { return most; }
  virtual Milliseconds moved(Direction, size_t) { return 0; }

 private:
  Loop& loop_;
  bool cut_ = false;
};

}  // namespace paddock::io
