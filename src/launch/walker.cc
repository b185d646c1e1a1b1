#include "launch/walker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/uapi.h"

namespace paddock::launch {

namespace {

constexpr uint64_t kBreath = 20'000;  // µs between two partial samples in the midst of a walk

// The walker itself: sends a sample for every byte that the keeper sends.
[[noreturn]] void walk(Watcher& watcher, Fd socket, const Fd& user_namespace) {
  (void)::prctl(PR_SET_NAME, "paddock-walker");
  std::vector<int> kept = watcher.descriptors();
  kept.push_back(socket.get());
  if (user_namespace) kept.push_back(user_namespace.get());
  if (!kernel::close_all_but(kept)) ::_exit(125);
  watcher.use_user_namespace(user_namespace.get());
  if (!kernel::die_with_parent()) ::_exit(125);
  uint64_t last_us = now_us();
  watcher.use_breath([&] {
    if (now_us() - last_us < kBreath) return;
    Sample sample = watcher.sample(true);
    last_us = now_us();
    if (::send(socket.get(), &sample, sizeof sample, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN)
      ::_exit(0);
  });
  char byte;
  while (::recv(socket.get(), &byte, 1, 0) > 0) {
    Sample sample = watcher.sample();
    last_us = now_us();
    if (::send(socket.get(), &sample, sizeof sample, MSG_NOSIGNAL) < 0) break;
  }
  ::_exit(0);
}

}  // namespace

Result<void> Walker::start(Watcher& watcher, const Fd& user_namespace) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error(errno, "make the walker's socket");
  Fd ours(ends[0]), theirs(ends[1]);
  child_ = TRY(kernel::fork_child(0));
  if (child_.pid == 0) {
    ours.reset();
    walk(watcher, std::move(theirs), user_namespace);
  }
  socket_ = std::move(ours);
  died_ = false;
  asked_us_ = 0;
  return {};
}

// A walker that waits for a disk dies late. The keeper waits a second for it at most.
void Walker::stop() {
  if (child_.pid <= 0) return;
  (void)kernel::pidfd_send_signal(child_.pidfd.get(), SIGKILL);
  pollfd gone{child_.pidfd.get(), POLLIN, 0};
  if (::poll(&gone, 1, 1000) > 0) (void)::waitpid(child_.pid, nullptr, WNOHANG);
  child_ = {};
  socket_.reset();
  asked_us_ = 0;
}

void Walker::ask() {
  if (!running() || pending()) return;
  if (::send(socket_.get(), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) died_ = true;
  asked_us_ = heard_us_ = now_us();
}

bool Walker::receive() {
  if (!running() || died_) return false;
  Sample sample;
  ssize_t size = ::recv(socket_.get(), &sample, sizeof sample, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (size != sizeof sample) {
    died_ = true;
    return false;
  }
  latest_ = sample;
  heard_us_ = now_us();
  if (sample.complete) asked_us_ = 0;
  return true;
}

bool Walker::wait(uint64_t us) {
  uint64_t end = now_us() + us;
  while (running() && pending() && !died_) {
    uint64_t now = now_us();
    if (now >= end) return false;
    pollfd answer{socket_.get(), POLLIN, 0};
    if (::poll(&answer, 1, static_cast<int>((end - now) / 1000 + 1)) > 0) (void)receive();
  }
  return running() && !died_;
}

bool Walker::lost() const {
  if (died_) return true;
  return pending() && (now_us() - heard_us_ > kSilence || now_us() - asked_us_ > kLongestWalk);
}

}  // namespace paddock::launch
