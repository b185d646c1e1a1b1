// The first process of a sandbox whose namespaces another runtime makes: runc, crun, gVisor. It
// stays outside of the runtime's container, in a PID namespace of its own with whatever the runtime
// starts, and so everything ends with it, and it ends with its keeper. It builds the root beside
// the host's tree, lets the runtime enter that, and waits. Inside, launch_inside() goes on with the
// same plan.
#pragma once

#include "launch/launch.h"

namespace paddock::launch {

// Where everything of the runtime's is: a tmpfs that only it sees, over a directory that every host
// has and that users of all ids may pass through.
inline constexpr char kBootPlace[] = "/tmp", kBootRoot[] = "/tmp/root", kBootState[] = "/tmp/state",
                      kBootPid[] = "/tmp/pid", kBootConfig[] = "/tmp/config.json";

// The descriptors that the container's first process finds.
inline constexpr int kInsideGuard = 3, kInsidePlan = 4, kInsideStdio = 5, kInsideEnd = 8;

// Carries input.plan.boot out. Returns only an error.
Result<void> boot(LaunchInput& input, uint64_t namespaces);

// What paddock-launch is told to be inside.
inline constexpr char kInsideArgument[] = "inside", kCarriedArgument[] = "carried";

}  // namespace paddock::launch
