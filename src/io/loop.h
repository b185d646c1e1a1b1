// The one event loop of a process: sockets that are waited for, timers, and turns.
#pragma once

#include <sys/epoll.h>

#include <coroutine>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <vector>

#include "base/fd.h"
#include "io/task.h"

namespace paddock::io {

using Milliseconds = int64_t;  // CLOCK_MONOTONIC where it is a point in time

class Loop;
class Socket;

// A socket to wait for, in one direction.
struct Interest {
  Socket* socket;
  bool to_write;
};

// `co_await Wait(…)` goes on when one of the sockets may be ready, or at the deadline; it is false
// for the deadline.
class Wait {
 public:
  static constexpr Milliseconds kForever = INT64_MAX;
  static constexpr size_t kMost = 8;

  // With more than kMost interests, the rest is ignored.
  Wait(Loop& loop, const Interest* interests, size_t count, Milliseconds deadline);
  Wait(Loop& loop, Interest one, Milliseconds deadline) : Wait(loop, &one, 1, deadline) {}
  Wait(Wait&&) = delete;
  bool await_ready() const;
  void await_suspend(std::coroutine_handle<> waiting);
  bool await_resume() const { return !late_; }

 private:
  friend class Loop;
  friend class Socket;
  // Takes itself out of all sockets and timers, without resuming the coroutine.
  void leave(bool late);
  // Leaves, and resumes the coroutine at once: this object is gone afterwards.
  void wake(bool late);

  Loop& loop_;
  Interest interests_[kMost];
  size_t count_;
  Milliseconds deadline_;
  bool late_ = false;
  std::coroutine_handle<> waiting_;
};

// A descriptor that does not block, known to the loop. At most two coroutines wait for it (under
// TLS reading may need to write, and the reverse); it must not be closed meanwhile (shutdown(2)
// wakes them).
class Socket {
 public:
  Socket() = default;
  Socket(Loop& loop, Fd fd) { open(loop, std::move(fd)); }
  Socket(Socket&&) = delete;
  ~Socket() { close(); }

  int get() const { return fd_.get(); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  void open(Loop& loop, Fd fd);
  void take(Socket& other);  // its descriptor, for which there must be no waiter
  void close();

  Wait readable(Milliseconds deadline = Wait::kForever) {
    return Wait(*loop_, {this, false}, deadline);
  }
  Wait writable(Milliseconds deadline = Wait::kForever) {
    return Wait(*loop_, {this, true}, deadline);
  }

  void wake_readers();  // readers go on, as if there were something to read

  // Readiness is edge-triggered: after EAGAIN, call one of these before waiting.
  void not_readable() { readable_ = false; }
  // A read that got less than it asked for has emptied the socket, unless its end is near or urgent
  // data stands in it.
  void read_short() { readable_ = ends_; }
  void not_writable() { writable_ = false; }

  // Gives waiters a turn, as if it were ready. (A socket without a descriptor is thus a bell:
  // io/bell.h.)
  void nudge();

 private:
  friend class Loop;
  friend class Wait;
  Loop* loop_ = nullptr;
  Fd fd_;
  bool readable_ = true, writable_ = true, ends_ = false;
  Wait* readers_[2] = {};
  Wait* writers_[2] = {};
};

class Loop {
 public:
  static Result<Loop*> create();  // one per process, never destroyed

  void run();  // until stop()
  void stop() { stopped_ = true; }
  // Called after each round of events, timers and turns, for work that is worth collecting.
  std::function<void()> after_turn;
  // The time of the current round. It does not advance within one.
  Milliseconds now() const { return now_; }

  struct Sleep {
    Loop& loop;
    Milliseconds until;
    std::coroutine_handle<> waiting;
    bool await_ready() const { return until <= loop.now_; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const {}
  };
  Sleep sleep(Milliseconds duration) { return {*this, now_ + duration, {}}; }

  // Lets the others have a turn.
  struct Yield {
    Loop& loop;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { loop.give_turn(handle); }
    void await_resume() const {}
  };
  Yield yield() { return {*this}; }
  // Resumes the coroutine in the next round. Whoever wakes others uses this, and keeps its own
  // state valid meanwhile.
  void give_turn(std::coroutine_handle<> handle) { turns_.push_back(handle); }

 private:
  friend class Socket;
  friend class Wait;
  struct Timer {
    Milliseconds when;
    Wait* wait;                      // or
    std::coroutine_handle<> handle;  // a sleeper
    friend bool operator<(const Timer& a, const Timer& b) {
      if (a.when != b.when) return a.when < b.when;
      if (a.wait != b.wait) return a.wait < b.wait;
      return a.handle.address() < b.handle.address();
    }
  };

  // Both keep the table of descriptors; epoll itself forgets a descriptor when it is closed.
  void add(Socket& socket);
  void remove(Socket& socket);
  void fire(const epoll_event& event);
  void run_timers();
  void update_time();

  Fd epoll_;
  // Indexed by descriptor; null where the loop knows none.
  std::vector<Socket*> sockets_;
  // Indexed by descriptor. Tells events of a closed descriptor from those of its successor.
  std::vector<uint32_t> generations_;
  std::set<Timer> timers_;
  std::deque<std::coroutine_handle<>> turns_;
  Milliseconds now_ = 0;
  bool stopped_ = false;
};

// Something that happens once; its waiters then get a turn.
class Event {
 public:
  explicit Event(Loop& loop) : loop_(loop) {}
  void happen() {
    happened_ = true;
    for (std::coroutine_handle<> handle : waiting_) loop_.give_turn(handle);
    waiting_.clear();
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Not the event itself: g++ 12 copies what is awaited when it is a member or reached by a
  // pointer, and waits for the copy.
  struct Happening {
    Event& event;
    bool await_ready() const { return event.happened_; }
    void await_suspend(std::coroutine_handle<> handle) { event.waiting_.push_back(handle); }
    void await_resume() const {}
  };
  Happening operator co_await() { return {*this}; }

 private:
  Loop& loop_;
  bool happened_ = false;
  std::vector<std::coroutine_handle<>> waiting_;
};

}  // namespace paddock::io
