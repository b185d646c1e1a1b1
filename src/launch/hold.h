// What a keeper has of its sandbox: the first process, the socket to it, and the cgroups.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/plan.h"
#include "launch/watch.h"
#include "linux/cgroup.h"
#include "linux/child.h"

namespace paddock::launch {

// Shared by the keepers of runs and of living sandboxes. Not movable: the watcher holds a pointer
// to the groups.
class Hold {
 public:
  Hold() = default;
  Hold(Hold&&) = delete;
  ~Hold() { forget_first_process(); }

  // Forks the first process into its namespaces, where it waits for its plan. `control` is closed
  // in it.
  Result<void> make_first_process(uint64_t namespaces, Fd& control);
  // A process that was made ahead is replaced if its namespaces turn out to be others than the
  // plan's.
  bool has_first_process() const { return child_.pid > 0; }
  void forget_first_process();

  // Makes the sandbox up to the point where the first process may go on. Takes what goes inside
  // from `passed`.
  Result<void> start(const Plan& plan, const std::string& plan_bytes, std::vector<Fd>& passed,
                     Fd& control, Watcher& watcher);
  // Lets the first process join its version 1 cgroups and go on. In a version 2 cgroup it was born,
  // but for a runtime's: that is not counted, and only what runs in its container joins.
  Result<void> open_the_way() const;

  kernel::Child& child() { return child_; }
  Fd& guard() { return guard_; }
  const std::vector<kernel::Cgroup>& groups() const { return groups_; }
  void remove_groups() const;

 private:
  Result<void> make_cgroups(const Plan& plan, Watcher& watcher);

  uint64_t namespaces_ = 0;  // of the first process
  bool joins_later_ = false;
  kernel::Child child_;
  Fd guard_;
  std::vector<kernel::Cgroup> groups_;
};

}  // namespace paddock::launch
