// The code inside the sandbox: it turns a process into the sandbox's first process and starts the
// program.
#pragma once

#include <vector>

#include "base/fd.h"
#include "launch/plan.h"
#include "launch/root.h"

namespace paddock::launch {

struct LaunchInput {
  Plan plan;
  Fd keeper;              // the socket to the keeper
  Sources sources;        // what the keeper took ahead
  std::vector<Fd> stdio;  // for the program: stdin, stdout, stderr
  Fd egress;              // the socket to the egress process, when the plan has a network
  std::vector<Fd> joins;  // through which a runtime joins the cgroups
  // Whether the kernel's per-user counters could be bounded inside. It is reported after the
  // namespaces in `ready`.
  bool counters_bounded = false;
};

// Waits for the plan, then carries it out. Never returns: it ends as PID 1 (container), as the
// program (process; living, where the program is PID 1), or with a failure reported to the keeper.
// `namespaces` are the new ones that this process is in.
[[noreturn]] void launch(Fd keeper, uint64_t namespaces);

// Goes on inside a container that a runtime made for plan.boot, with the descriptors that
// launch/boot.h names.
[[noreturn]] void launch_inside();

}  // namespace paddock::launch
