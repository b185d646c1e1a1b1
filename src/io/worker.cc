#include "io/worker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>

#include "base/text.h"

namespace paddock::io {

// Shared by the threads, the loop's coroutine and the worker. The lock guards the two lists and
// `ends`.
struct Worker::State {
  std::mutex lock;
  std::condition_variable more;
  std::deque<Job*> todo, done;
  bool ends = false;
  Socket wake;  // an eventfd: something is done, or the worker ends

  void poke() {
    uint64_t one = 1;
    (void)!::write(wake.get(), &one, sizeof one);
  }
};

namespace {

// What each thread does. The lock is not held while the work runs.
void serve(Worker::State& state) {
  std::unique_lock<std::mutex> held(state.lock);
  while (true) {
    state.more.wait(held, [&] { return state.ends || !state.todo.empty(); });
    if (state.ends) return;
    Worker::Job* job = state.todo.front();
    state.todo.pop_front();
    held.unlock();
    job->work();
    held.lock();
    state.done.push_back(job);
    state.poke();
  }
}

// Gives turns to waiters whose work is done. It outlives the worker by one turn of the loop, hence
// the shared state.
Task<void> collect(Loop& loop, std::shared_ptr<Worker::State> state) {
  while (true) {
    (void)co_await state->wake.readable();
    uint64_t count;
    (void)!::read(state->wake.get(), &count, sizeof count);
    state->wake.not_readable();
    std::lock_guard<std::mutex> held(state->lock);
    for (Worker::Job* job : state->done) loop.give_turn(job->waiting);
    state->done.clear();
    if (state->ends) co_return;
  }
}

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(Loop& loop, size_t threads) {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return errno_error(errno, "make an eventfd");
  std::unique_ptr<Worker> worker(new Worker);
  worker->state_ = std::make_shared<State>();
  worker->state_->wake.open(loop, std::move(wake));
  // Signals are for the loop's thread. A thread that starts with all of them blocked never takes
  // one.
  sigset_t all, before;
  (void)::sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  for (size_t i = 0; i < threads; ++i)
    worker->threads_.emplace_back([state = worker->state_] { serve(*state); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  spawn(collect(loop, worker->state_));
  return worker;
}

// The threads end first; then the loop's coroutine is woken to see that it is over.
Worker::~Worker() {
  if (!state_) return;
  {
    std::lock_guard<std::mutex> held(state_->lock);
    state_->ends = true;
  }
  state_->more.notify_all();
  for (std::thread& thread : threads_) thread.join();
  state_->poke();
}

void Worker::Job::await_suspend(std::coroutine_handle<> handle) {
  waiting = handle;
  State& shared = state;  // this job may be done, and gone, as soon as the lock is free
  {
    std::lock_guard<std::mutex> held(shared.lock);
    shared.todo.push_back(this);
  }
  shared.more.notify_one();
}

}  // namespace paddock::io
