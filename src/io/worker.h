// Work that blocks, done by a few threads while the loop goes on.
//
//   Result<uint64_t> bytes = Error{};
//   std::function<void()> work = [&] { bytes = copy_tree(…); };
//   co_await worker.run(work);   // `bytes` is there now; the loop had its turns meanwhile
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "io/loop.h"

namespace paddock::io {

class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(Loop& loop, size_t threads);
  // Waits for work that has begun. Waiters for work that has not begun are never resumed.
  ~Worker();

  struct State;
  // One piece of work, as an awaitable in the waiter's frame.
  struct Job {
    State& state;
    const std::function<void()>& work;
    std::coroutine_handle<> waiting;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const {}
  };
  // The work must not touch what coroutines of the loop change meanwhile. It stays where it is
  // until it is done: a variable of the waiter, as what it refers to.
  Job run(const std::function<void()>& work) { return {*state_, work, {}}; }

 private:
  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

}  // namespace paddock::io
