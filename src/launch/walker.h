// The process that looks through /proc and directories for the keeper, which itself keeps the
// clocks: however much there is to look at, no clock waits for it. It is a child of the keeper,
// made when something must be sampled and not before.
//
//   TRY(walker.start(watcher, user_namespace));
//   walker.ask();                                      // never blocks
//   if (readable(walker.fd())) while (walker.receive()) judge(walker.latest());
#pragma once

#include "launch/watch.h"
#include "linux/child.h"

namespace paddock::launch {

class Walker {
 public:
  Walker() = default;
  ~Walker() { stop(); }

  // `user_namespace` is the sandbox's, to read what the program locked; empty where no more rights
  // are needed.
  Result<void> start(Watcher& watcher, const Fd& user_namespace);
  void stop();

  bool running() const { return child_.pid > 0; }
  int fd() const { return socket_.get(); }

  // Asks for a sample, unless one is under way.
  void ask();
  // Takes the next message: true when there was one. Several partial samples can come before a
  // complete one.
  bool receive();
  // Waits for the answer to ask(), at most `us` microseconds.
  bool wait(uint64_t us);

  const Sample& latest() const { return latest_; }
  bool pending() const { return asked_us_ != 0; }
  // It died, or did not answer in time, so it is unknown what is used.
  bool lost() const;

 private:
  static constexpr uint64_t kSilence = 10'000'000, kLongestWalk = 300'000'000;  // µs

  kernel::Child child_;
  Fd socket_;
  Sample latest_;
  bool died_ = false;
  uint64_t asked_us_ = 0, heard_us_ = 0;
};

}  // namespace paddock::launch
