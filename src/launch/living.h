// The keeper of a living sandbox. It outlives the server that started it: it listens in the
// sandbox's directory, and whoever connects there last is its server. It ends when the guest ends,
// when a limit is exceeded, or when it is told to; never because a server is gone. Times to live
// and rules are enforced by the server while there is one; without it, the keeper enforces what it
// was told of them (launch/lifetime.h). How it ended is written to a file in the directory, for a
// server that comes later.
#pragma once

#include <string>
#include <vector>

#include "base/fd.h"
#include "launch/plan.h"

namespace paddock::launch {

inline constexpr char kKeeperSocket[] = "keeper";  // in Plan::directory
// Also there, once it has ended:
// {"format":"paddock-end","version":1,"time_ms":…,"because":"timeout","keep_files":false}, with
// "limit" (limit, value, peak; of a rule also rule and text) when it was one, and "memory_peak",
// "disk_bytes", "cpu_us" and "oom_kills".
inline constexpr char kEndFile[] = "end.json", kEndFormat[] = "paddock-end";

// `control` is the first server. Returns the keeper's exit status when the sandbox has ended.
int live(Fd control, Plan plan, std::string plan_bytes, std::vector<Fd> passed);

}  // namespace paddock::launch
