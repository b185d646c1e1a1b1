// Fairness on the one loop: a coroutine that works through many bytes lets the others have their
// turn in between. Count what is read and what is produced, since a few bytes can become many.
//
//   Turn turn;
//   while (…) {
//     …
//     if (turn.is_over(piece.size())) co_await loop.yield();
//   }
#pragma once

#include <cstddef>

namespace paddock::io {

class Turn {
 public:
  static constexpr size_t kBytes = 256 << 10;
  static constexpr size_t kStep = 64;  // what a step costs that moves no bytes

  // Whether so many have been worked through, with these, that others should have a turn. Then it
  // begins again.
  bool is_over(size_t bytes) {
    spent_ += bytes + kStep;
    if (spent_ < kBytes) return false;
    spent_ = 0;
    return true;
  }

 private:
  size_t spent_ = 0;
};

}  // namespace paddock::io
