#include "launch/usage.h"

#include <algorithm>

namespace paddock::launch {

LivingUsage usage_of(Watcher& watcher, const Sample& seen, uint64_t memory_peak,
                     uint64_t own_processes) {
  Sample sample = seen;
  watcher.add_counted_cpu(sample);
  Counters counters = watcher.counters();
  LivingUsage usage{.cpu_us = sample.cpu_us,
                    .memory = sample.memory,
                    .memory_peak = std::max(memory_peak, sample.memory),
                    .pids = sample.pids,
                    .disk = sample.disk,
                    .oom_kills = counters.oom_kills};
  if (const kernel::Cgroup* memory = watcher.group_for(kernel::kMemory)) {
    bool v1 = memory->plan().version() == 1;
    usage.memory = memory->read_number(v1 ? "memory.usage_in_bytes" : "memory.current").value_or(0);
    usage.memory_cache = memory->read_keyed("memory.stat", v1 ? "cache" : "file").value_or(0);
    usage.memory_peak = counters.memory_peak.value_or(usage.memory);
  }
  if (const kernel::Cgroup* pids = watcher.group_for(kernel::kPids)) {
    uint64_t all = pids->read_number("pids.current").value_or(0);
    usage.pids = all - std::min(all, own_processes);
  }
  return usage;
}

}  // namespace paddock::launch
