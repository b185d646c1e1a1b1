// What a sandbox uses at this instant, for who asks its keeper.
#pragma once

#include "launch/channel.h"
#include "launch/watch.h"

namespace paddock::launch {

// `seen`: what the keeper's own looks found, which cost more: disk, and the peak of memory where no cgroup keeps it.
struct SeenUsage {
  uint64_t disk = 0, memory_peak = 0;
};
LivingUsage usage_of(Watcher& watcher, const SeenUsage& seen, uint64_t own_processes);

}  // namespace paddock::launch
