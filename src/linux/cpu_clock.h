// The CPU time of a process and of everything it starts from then on, counted by the kernel without
// a cgroup.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

// Needs no privilege where kernel.perf_event_paranoid is 2 or less; Debian's default is stricter.
Result<Fd> open_cpu_clock(pid_t pid);
std::optional<uint64_t> read_cpu_clock_us(int clock);

}  // namespace paddock::kernel
