// PID 1 of a container: reaps, passes signals on, and ends everything when the program or the keeper ends.
#pragma once

#include <sys/types.h>

#include "launch/launch.h"

namespace paddock::launch {

struct Forked {
  pid_t program = 0;  // 0 in the process that becomes the program
  Pipe release;       // the program reads from it until PID 1 passes the keeper's `go` on
};

// fork(), with all signals already blocked for run_init.
Result<Forked> fork_from_init();

[[noreturn]] void run_init(LaunchInput& input, Forked forked);

}  // namespace paddock::launch
