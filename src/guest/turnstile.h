// Lets coroutines in one at a time, in the order they came.
#pragma once

#include <coroutine>
#include <deque>

#include "io/loop.h"

namespace paddock::guest {

class Turnstile {
 public:
  explicit Turnstile(io::Loop& loop) : loop_(loop) {}

  // `co_await turnstile.enter()`, and leave() in the end.
  struct Enter {
    Turnstile& turnstile;
    bool await_ready() { return !std::exchange(turnstile.busy_, true); }
    void await_suspend(std::coroutine_handle<> handle) { turnstile.waiting_.push_back(handle); }
    void await_resume() const {}
  };
  Enter enter() { return {*this}; }
  void leave() {
    if (waiting_.empty()) {
      busy_ = false;
      return;
    }
    loop_.give_turn(waiting_.front());
    waiting_.pop_front();
  }

 private:
  io::Loop& loop_;
  bool busy_ = false;
  std::deque<std::coroutine_handle<>> waiting_;
};

}  // namespace paddock::guest
