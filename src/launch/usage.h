// What a sandbox uses at this instant, for callers that ask its keeper.
#pragma once

#include "launch/channel.h"
#include "launch/watch.h"

namespace paddock::launch {

// `seen` is what the last look found, and `memory_peak` the most so far, which counts where no
// cgroup keeps it. `own_processes` is how many of ours are in the sandbox's cgroup.
LivingUsage usage_of(Watcher& watcher, const Sample& seen, uint64_t memory_peak,
                     uint64_t own_processes);

}  // namespace paddock::launch
