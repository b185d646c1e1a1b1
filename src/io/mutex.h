// One operation at a time on the one loop: whoever locks first holds it until the lock goes out of
// scope; the others wait in the order they came.
//
//   io::Mutex::Lock lock = co_await mutex.lock();
#pragma once

#include <deque>
#include <utility>

#include "io/loop.h"

namespace paddock::io {

class Mutex {
 public:
  explicit Mutex(Loop& loop) : loop_(loop) {}

  class [[nodiscard]] Lock {
   public:
    explicit Lock(Mutex* mutex) : mutex_(mutex) {}
    Lock(Lock&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Lock& operator=(Lock&&) = delete;
    ~Lock() {
      if (mutex_) mutex_->unlock();
    }

   private:
    Mutex* mutex_;
  };

  struct Locking {
    Mutex& mutex;
    bool await_ready() { return !std::exchange(mutex.locked_, true); }
    void await_suspend(std::coroutine_handle<> handle) { mutex.waiting_.push_back(handle); }
    Lock await_resume() { return Lock(&mutex); }
  };
  Locking lock() { return {*this}; }

 private:
  void unlock() {
    if (waiting_.empty()) {
      locked_ = false;
      return;
    }
    std::coroutine_handle<> next = waiting_.front();
    waiting_.pop_front();
    loop_.give_turn(next);  // stays locked
  }

  Loop& loop_;
  std::deque<std::coroutine_handle<>> waiting_;
  bool locked_ = false;
};

}  // namespace paddock::io
