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

  io::Task<Result<std::shared_ptr<Process>>> start(ProcessSpec spec);
  Result<std::shared_ptr<Process>> find(const Value& request);  // by its "pid" or "tag"
  std::vector<std::shared_ptr<Process>> running() const;

  // A child that is no process of the server's (a helper, what sudo asked for): `ended` gets its
  // status, once.
  void expect(pid_t pid, std::function<void(int status)> ended) { others_[pid] = std::move(ended); }
  bool reap();  // some of what there is to reap, orphans too; false: there is more
  size_t count() const { return running_.size() + others_.size(); }

 private:
  void forget_old();

  io::Loop& loop_;
  std::map<pid_t, std::shared_ptr<Process>> running_;
  std::map<pid_t, std::function<void(int)>> others_;
  std::deque<std::shared_ptr<Process>> ended_;
};

}  // namespace paddock::guest
