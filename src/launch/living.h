// The keeper of a living sandbox. It outlives the server that started it: it listens in the sandbox's directory, and whoever
// connects there last is its server. It ends when the guest ends, when a limit is passed, or when it is told to; never because
// a server is gone. Times to live, idle times and output are the server's business.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/plan.h"

namespace paddock::launch {

inline constexpr char kKeeperSocket[] = "keeper";  // in Plan::directory

// `control` is the first server. Returns the keeper's exit status.
int live(Fd control, Plan plan, std::string plan_bytes, std::vector<Fd> passed);

}  // namespace paddock::launch
