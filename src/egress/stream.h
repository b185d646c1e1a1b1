// One side of a connection, plain or under TLS, that keeps to the sandbox's rates.
#pragma once

#include <string>
#include <string_view>

#include "egress/io.h"
#include "io/stream.h"

namespace paddock::egress {

class Gate;

class Stream : public io::Stream {
 public:
  // The client's bytes are those that count against the totals.
  enum class Side { client, server };
  Stream(Gate& gate, Side side);

  uint64_t up = 0, down = 0;

  // As io::Stream, in blocks that fit what is held in memory for slow receivers.
  Task<More> read(Milliseconds deadline = Wait::kForever);
  Task<bool> write(std::string_view bytes);

  enum class Seen { bytes, nothing, end };
  std::string peek_at(size_t most);  // the first bytes of it; they stay there
  Seen peek();                       // what waits on the socket, which then may be waited for

  // Makes the close a reset instead of an ordinary end.
  void reset();

 private:
  size_t most_at_once(Direction direction, size_t most) override;
  Milliseconds moved(Direction direction, size_t bytes) override;

  Gate& gate_;
  Side side_;
};

// Moves bytes as they are, both ways, until both ends are done.
Task<void> relay(Gate& gate, Stream& client, Stream& server);  // plain sockets only

}  // namespace paddock::egress
