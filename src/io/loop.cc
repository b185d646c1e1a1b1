#include "io/loop.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

namespace paddock::io {

void Socket::open(Loop& loop, Fd fd) {
  close();
  loop_ = &loop;
  fd_ = std::move(fd);
  readable_ = writable_ = true;
  ends_ = false;
  loop.add(*this);
}

void Socket::take(Socket& other) {
  close();
  loop_ = other.loop_;
  fd_ = std::move(other.fd_);
  readable_ = other.readable_;
  writable_ = other.writable_;
  ends_ = other.ends_;
  loop_->sockets_[static_cast<size_t>(fd_.get())] = this;
}

void Socket::close() {
  if (!fd_) return;
  loop_->remove(*this);
  fd_.reset();
}

void Socket::wake_readers() {
  for (int slot : {0, 1})
    if (readers_[slot]) readers_[slot]->wake(false);
}

Wait::Wait(Loop& loop, const Interest* interests, size_t count, Milliseconds deadline)
    : loop_(loop), count_(std::min(count, kMost)), deadline_(deadline) {
  std::copy(interests, interests + count_, interests_);
}

bool Wait::await_ready() const {
  return std::any_of(interests_, interests_ + count_, [](const Interest& interest) {
    return interest.to_write ? interest.socket->writable_ : interest.socket->readable_;
  });
}

void Wait::await_suspend(std::coroutine_handle<> waiting) {
  waiting_ = waiting;
  for (size_t i = 0; i < count_; ++i) {
    Wait** slots =
        interests_[i].to_write ? interests_[i].socket->writers_ : interests_[i].socket->readers_;
    // A third waiter would be forgotten silently, and hang. That is a mistake in the program.
    if (slots[0] && slots[1]) std::abort();
    slots[slots[0] ? 1 : 0] = this;
  }
  if (deadline_ != kForever) loop_.timers_.insert({deadline_, this, {}});
}

// Turns instead of resuming: whoever nudges may be in the middle of something.
void Socket::nudge() {
  readable_ = writable_ = true;
  for (Wait** slot : {&readers_[0], &readers_[1], &writers_[0], &writers_[1]}) {
    Wait* wait = *slot;  // leaving clears all its slots
    if (!wait) continue;
    wait->leave(false);
    wait->loop_.give_turn(wait->waiting_);
  }
}

void Wait::leave(bool late) {
  late_ = late;
  for (size_t i = 0; i < count_; ++i) {
    Wait** slots =
        interests_[i].to_write ? interests_[i].socket->writers_ : interests_[i].socket->readers_;
    for (int slot : {0, 1})
      if (slots[slot] == this) slots[slot] = nullptr;
  }
  if (deadline_ != kForever) loop_.timers_.erase({deadline_, this, {}});
}

void Wait::wake(bool late) {
  leave(late);
  waiting_.resume();  // and this is gone
}

Result<Loop*> Loop::create() {
  static Loop* newest;  // what still waits in it when the process ends is not lost
  auto* loop = newest = new Loop;
  loop->epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!loop->epoll_) return errno_error(errno, "make an event loop");
  loop->update_time();
  return loop;
}

void Loop::update_time() {
  timespec time;
  (void)::clock_gettime(CLOCK_MONOTONIC, &time);
  now_ = static_cast<Milliseconds>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

void Loop::add(Socket& socket) {
  size_t number = static_cast<size_t>(socket.get());
  if (sockets_.size() <= number) {
    sockets_.resize(number + 64);
    generations_.resize(number + 64);
  }
  sockets_[number] = &socket;
  epoll_event event{};
  // Edge-triggered for both directions, so that one epoll_ctl per descriptor is enough for its
  // life.
  event.events = EPOLLIN | EPOLLPRI | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = static_cast<uint64_t>(++generations_[number]) << 32 | number;
  (void)::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.get(), &event);
}

// Closing takes it out of the epoll set; what is still queued for it carries an old generation.
void Loop::remove(Socket& socket) {
  size_t number = static_cast<size_t>(socket.get());
  sockets_[number] = nullptr;
  ++generations_[number];
}

// Each resumed coroutine may close the socket or open another with the same number. So the socket
// is looked up again before every step.
void Loop::fire(const epoll_event& event) {
  size_t number = event.data.u64 & 0xffffffff;
  uint32_t generation = static_cast<uint32_t>(event.data.u64 >> 32);
  auto socket = [&] { return generations_[number] == generation ? sockets_[number] : nullptr; };
  bool broken = event.events & (EPOLLERR | EPOLLHUP);
  if (Socket* found = socket(); found && (broken || event.events & (EPOLLIN | EPOLLRDHUP))) {
    found->readable_ = true;
    found->ends_ = found->ends_ || broken || event.events & (EPOLLRDHUP | EPOLLPRI);
    if (found->readers_[0]) found->readers_[0]->wake(false);
  }
  if (Socket* found = socket(); found && found->readable_ && found->readers_[1])
    found->readers_[1]->wake(false);
  if (Socket* found = socket(); found && (broken || event.events & EPOLLOUT)) {
    found->writable_ = true;
    if (found->writers_[0]) found->writers_[0]->wake(false);
  }
  if (Socket* found = socket(); found && found->writable_ && found->writers_[1])
    found->writers_[1]->wake(false);
}

// wake() takes the timer out of the set itself, and a sleeper is erased before it is resumed, since
// it may go to sleep again.
void Loop::run_timers() {
  while (!timers_.empty() && timers_.begin()->when <= now_) {
    Timer timer = *timers_.begin();
    if (timer.wait) {
      timer.wait->wake(true);
      continue;
    }
    timers_.erase(timers_.begin());
    timer.handle.resume();
  }
}

void Loop::run() {
  std::array<epoll_event, 256> events;
  while (!stopped_) {
    int timeout = -1;
    if (!timers_.empty())
      timeout = static_cast<int>(std::clamp<Milliseconds>(timers_.begin()->when - now_, 0, 60'000));
    if (!turns_.empty()) timeout = 0;
    int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    update_time();
    for (int i = 0; i < count && !stopped_; ++i) fire(events[static_cast<size_t>(i)]);
    run_timers();
    // Only the turns that were there at the beginning of the round. Those that are given meanwhile
    // wait for the next one, after the events.
    for (size_t turn = turns_.size(); turn > 0 && !stopped_; --turn) {
      std::coroutine_handle<> handle = turns_.front();
      turns_.pop_front();
      handle.resume();
    }
    if (after_turn) after_turn();
  }
  stopped_ = false;  // so that it may run again
}

void Loop::Sleep::await_suspend(std::coroutine_handle<> handle) {
  waiting = handle;
  loop.timers_.insert({until, nullptr, handle});
}

}  // namespace paddock::io
