// All processes the server asked for: those that run, and for a while those that ended.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "guest/process.h"

namespace paddock::guest {

class Processes {
 public:
  explicit Processes(io::Loop& loop) : loop_(loop) {}

  // Starts a program, and keeps it until some time after its end. The caller then calls run().
  io::Task<Result<std::shared_ptr<Process>>> start(ProcessSpec spec);
  Result<std::shared_ptr<Process>> find(const Value& request);  // by its "pid" or "tag"
  // Those that have begun to run and have not ended.
  std::vector<std::shared_ptr<Process>> running() const;

  // Registers a child that the server did not ask for itself (a helper, a command of sudo): `ended`
  // gets its status, once. Call it before the loop turns, or the child may be reaped unnoticed.
  void expect(pid_t pid, std::function<void(int status)> ended) { others_[pid] = std::move(ended); }
  // Reaps a bounded number of children, orphans too. False if there may be more.
  bool reap();
  size_t count() const { return running_.size() + others_.size(); }

 private:
  // Ended processes can still be found for a while: a client may ask for one a moment too late.
  void forget_old();

  io::Loop& loop_;
  std::map<pid_t, std::shared_ptr<Process>> running_;
  std::map<pid_t, std::function<void(int)>> others_;
  std::deque<std::shared_ptr<Process>> ended_;
};

}  // namespace paddock::guest
