// K19 perf_event_open: counts own page faults, which the usual perf_event_paranoid allows to everyone.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/perf_event.h>

#include "hostile.h"

int main(void) {
  struct perf_event_attr attributes = {
      .type = PERF_TYPE_SOFTWARE,
      .size = sizeof attributes,
      .config = PERF_COUNT_SW_PAGE_FAULTS,
      .exclude_kernel = 1,
      .exclude_hv = 1,
  };
  if (syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0) escaped("a perf event is open");
  stopped("perf_event_open");
}
