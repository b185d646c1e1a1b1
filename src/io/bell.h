// A bell: coroutines wait for it, and whoever changes something that they look at rings it. They
// look again, and may wait again.
#pragma once

#include "io/loop.h"

namespace paddock::io {

class Bell {
 public:
  explicit Bell(Loop& loop) : loop_(loop) {}
  // Waiters get a turn later, not within this call, so it is safe to ring in the middle of a
  // change.
  void ring() { socket_.nudge(); }
  // `co_await bell.wait()`; false at the deadline. At most two may wait at a time.
  Wait wait(Milliseconds deadline = Wait::kForever) { return Wait(loop_, interest(), deadline); }
  Interest interest() {  // for a Wait that has others, too
    socket_.not_readable();
    return {&socket_, false};
  }

 private:
  Loop& loop_;
  Socket socket_;
};

}  // namespace paddock::io
