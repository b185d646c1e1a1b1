// One operation at a time: who takes the turn first has it until it lets go; the others wait in
// order.
//
//   Turn::Held held = co_await turn.take();
#pragma once

#include <deque>
#include <utility>

#include "io/loop.h"

namespace paddock::manager {

class Turn {
 public:
  explicit Turn(io::Loop& loop) : loop_(loop) {}

  class [[nodiscard]] Held {
   public:
    explicit Held(Turn* turn) : turn_(turn) {}
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (turn_) turn_->pass_on();
    }

   private:
    Turn* turn_;
  };

  struct Take {
    Turn& turn;
    bool await_ready() {
      if (turn.taken_) return false;
      turn.taken_ = true;
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) { turn.waiting_.push_back(handle); }
    Held await_resume() { return Held(&turn); }
  };
  Take take() { return {*this}; }

 private:
  void pass_on() {
    if (waiting_.empty()) {
      taken_ = false;
      return;
    }
    std::coroutine_handle<> next = waiting_.front();
    waiting_.pop_front();
    loop_.give_turn(next);  // stays taken
  }

  io::Loop& loop_;
  std::deque<std::coroutine_handle<>> waiting_;
  bool taken_ = false;
};

}  // namespace paddock::manager
