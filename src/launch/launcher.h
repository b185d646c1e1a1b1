// The caller's side: starts a keeper, which then waits for a plan.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "launch/channel.h"
#include "launch/plan.h"
#include "linux/scope.h"

namespace paddock::launch {

// A running keeper. Letting go of it (or dying) makes it end the sandbox and clean up; it is waited
// for, since an orphan would be left to a PID 1 that may never reap.
class KeeperProcess {
 public:
  KeeperProcess(pid_t pid, Fd control) : control(std::move(control)), pid_(pid) {}
  KeeperProcess(KeeperProcess&& other) noexcept
      : control(std::move(other.control)),
        scope(std::move(other.scope)),
        pid_(std::exchange(other.pid_, -1)) {}
  ~KeeperProcess();

  Fd control;
  // The answer of the service manager, which was asked for a scope for this keeper when it started.
  // Empty if there is no such manager.
  std::optional<Result<kernel::ScopeRequest>> scope;

  // Where the cgroups of its sandbox can be made: in its scope, or else where this process may make
  // them. Waits for the service manager; call it once.
  kernel::CgroupFacts find_cgroups();

  // For a keeper that is to outlive its caller (launch/living.h): it is not waited for here any
  // more.
  pid_t release() { return std::exchange(pid_, -1); }

 private:
  friend Result<KeeperProcess> fork_keeper(char** argv, bool ahead);
  friend Result<KeeperProcess> spawn_keeper(bool ahead, std::vector<pid_t> companions);
  void ask_for_scope(std::vector<pid_t> companions);

  pid_t pid_;
};

// Makes a keeper in a fork of this process, which must be static and single-threaded. An exec would
// cost a third of a millisecond, most of it libc asking the CPU for its features. The copy wipes
// the command line and the environment it inherited. With `ahead` it makes a container's namespaces
// while the plan is still being made.
Result<KeeperProcess> fork_keeper(char** argv, bool ahead);

// The same as a program of its own, paddock-launch, for callers that have threads or are not
// static. `companions` are processes that are to live as long as it does, and get into the same
// scope.
Result<KeeperProcess> spawn_keeper(bool ahead, std::vector<pid_t> companions = {});

// Finds another of Paddock's programs, in the same installation or build tree as this one. A
// program that uses the library may lie elsewhere; then $PADDOCK_PREFIX, /usr/local and /usr are
// searched.
Result<std::string> find_program(const std::string& name);

// Finds a folder of Paddock's own data, in share/paddock or in the build tree. Empty if there is
// none.
std::string find_data(const std::string& name);

}  // namespace paddock::launch
