// What a sandbox uses at this instant, for those who ask its keeper.
#pragma once

#include "launch/channel.h"
#include "launch/watch.h"

namespace paddock::launch {

// `seen`: what the last look found; `memory_peak`: the most of it so far, which counts where no
// cgroup keeps it.
LivingUsage usage_of(Watcher& watcher, const Sample& seen, uint64_t memory_peak,
                     uint64_t own_processes);

}  // namespace paddock::launch
