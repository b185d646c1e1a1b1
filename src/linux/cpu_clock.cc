#include "linux/cpu_clock.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

namespace paddock::kernel {

Result<Fd> open_cpu_clock(pid_t pid) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.inherit = 1;         // children too, also those nobody waits for
  wanted.exclude_kernel = 1;  // asked of ordinary users; a clock counts all the same
  wanted.exclude_hv = 1;
  Fd clock(
      static_cast<int>(::syscall(SYS_perf_event_open, &wanted, pid, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!clock) return errno_error(errno, "open a CPU clock");
  return clock;
}

std::optional<uint64_t> read_cpu_clock_us(int clock) {
  uint64_t nanoseconds = 0;
  if (::read(clock, &nanoseconds, sizeof nanoseconds) != sizeof nanoseconds) return std::nullopt;
  return nanoseconds / 1000;
}

}  // namespace paddock::kernel
