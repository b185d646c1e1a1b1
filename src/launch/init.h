// PID 1 of a container: reaps, passes signals on, and ends everything when the program or the
// keeper ends.
#pragma once

#include <sys/types.h>

#include <functional>

#include "launch/launch.h"

namespace paddock::launch {

// Runs `program`, which ends in an exec, in a child that borrows our memory until then (as vfork
// does): a copy of it would only be thrown away. Blocks all signals first, for run_init.
Result<pid_t> start_program(const LaunchInput& input, const std::function<Result<void>()>& program);

[[noreturn]] void run_init(LaunchInput& input, pid_t program);

}  // namespace paddock::launch
