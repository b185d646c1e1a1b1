// One connection as bytes, plain or under TLS.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "net/tls.h"

namespace paddock::io {

// What every connection needs, whatever keeps it.
// want_read or want_write.
Task<bool> wait_for_tls(Socket& socket, net::TlsStream::Status status, Milliseconds deadline);
Task<bool> shake_tls_hands(Socket& socket, net::TlsStream& tls, Milliseconds deadline);
void reset_at_close(int socket);  // the other side gets a reset instead of an ordinary end
// An ordinary end that lets the other side read what was sent, also while it is still sending
// itself; for a second at most.
Task<void> close_gently(Loop& loop, Socket& socket, std::optional<net::TlsStream>& tls);

class Stream {
 public:
  Stream(Loop& loop, Fd fd) : socket(loop, std::move(fd)), loop_(loop) {}

  Socket socket;
  std::optional<net::TlsStream> tls;
  std::string ahead;  // read and not used yet

  enum class More { yes, end, failed, late };
  // Reads what there is, at least a byte and at most about `most`, behind what is ahead.
  Task<More> read(Milliseconds deadline = Wait::kForever, size_t most = 256 << 10);
  // All of it, or false; the bytes must stay where they are meanwhile. The deadline is for each
  // step forward.
  Task<bool> write(std::string_view bytes, Milliseconds patience = Wait::kForever);
  Task<bool> shake_hands(Milliseconds deadline);  // TLS
  Task<void> close_gently();

  void cut();  // a reset for the other side; wakes who waits for it, whose reads and writes fail
  bool is_cut() const { return cut_; }
  Loop& loop() { return loop_; }

 private:
  Loop& loop_;
  bool cut_ = false;
};

}  // namespace paddock::io
