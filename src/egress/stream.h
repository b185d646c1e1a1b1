// One side of a connection, plain or under TLS, read and written as bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "egress/io.h"
#include "io/stream.h"
#include "net/tls.h"

namespace paddock::egress {

class Gate;

class Stream {
 public:
  enum class Side { client, server };  // the client's bytes count, and keep to the rates
  Stream(Gate& gate, Side side) : gate_(gate), side_(side) {}

  Socket socket;
  std::optional<net::TlsStream> tls;
  std::string ahead;  // read and not used yet
  uint64_t up = 0, down = 0;
  bool ended = false;  // by end(): whatever is still in its buffers goes nowhere

  enum class More { yes, end, failed, late };
  // Reads what there is, at least a byte, behind what is ahead.
  Task<More> read(Milliseconds deadline = Wait::kForever);
  // All of it; the bytes must stay where they are meanwhile.
  Task<bool> write(std::string_view bytes);

  enum class Seen { bytes, nothing, end };
  std::string peek_at(size_t most);  // the first bytes of it; they stay there
  Seen peek();                       // what waits on the socket, which then may be waited for

  void reset();  // the other side gets a reset instead of an ordinary end
  void end();    // wakes who waits for it; their reads and writes fail

 private:
  Milliseconds count(size_t bytes, bool reading);

  Gate& gate_;
  Side side_;
};

// Moves bytes as they are, both ways, until both ends are done.
Task<void> relay(Gate& gate, Stream& client, Stream& server);  // plain sockets only

}  // namespace paddock::egress
