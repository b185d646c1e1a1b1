// The caller's side: starts paddock-launch as a keeper and hands it a plan.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/channel.h"
#include "launch/plan.h"

namespace paddock::launch {

// A running keeper. Closing `control` (or dying) makes it end the sandbox and clean up.
struct KeeperProcess {
  pid_t pid = -1;
  Fd control;
};

// Starts the program `launcher`, without environment, with only the control socket. Can be done ahead
// of the plan, and with `ahead` the keeper then makes a container's namespaces meanwhile.
Result<KeeperProcess> start_keeper(const std::string& launcher, bool ahead);

// Where paddock-launch is: beside this program, in ../libexec/paddock, or one folder up (the tests of a build tree).
Result<std::string> find_launcher();

}  // namespace paddock::launch
