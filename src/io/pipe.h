// One end of a pipe, as io::Stream is of a socket.
#pragma once

#include <string>
#include <string_view>

#include "io/stream.h"

namespace paddock::io {

class PipeEnd {
 public:
  // Makes the descriptor non-blocking. From then on this process ignores SIGPIPE, as there is no
  // other way to write to a pipe safely.
  PipeEnd(Loop& loop, Fd fd);

  std::string ahead;  // read and not used yet

  // Reads what there is, at least a byte and at most `most`, and adds it to what is ahead.
  Task<Stream::More> read(Milliseconds deadline = Wait::kForever, size_t most = 64 << 10);
  // All of it, or false; the bytes must stay where they are meanwhile, and no other write may be
  // under way.
  Task<bool> write(std::string_view bytes, Milliseconds patience = Wait::kForever);

  void close();  // at once; readers and writers are woken and fail
  bool is_open() const { return static_cast<bool>(socket_); }

 private:
  Loop& loop_;
  Socket socket_;
};

}  // namespace paddock::io
