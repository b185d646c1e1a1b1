// R06 real-time and deadline scheduling: one such thread would starve its neighbours, whatever their share.
// layers: caps user_ns
// process: caps
// users: root
// control: observe
#include <sched.h>
#include <sys/resource.h>

#include "hostile.h"

static void back_to_normal(void) {
  struct sched_param none = {.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &none);
}

int main(void) {
  struct sched_param high = {.sched_priority = 1};
  int policies[] = {SCHED_FIFO, SCHED_RR, SCHED_FIFO | SCHED_RESET_ON_FORK};
  for (unsigned i = 0; i < sizeof policies / sizeof *policies; ++i) {
    if (sched_setscheduler(0, policies[i], &high) != 0) continue;
    back_to_normal();
    escaped("scheduling policy %d was granted", policies[i]);
  }
  struct {
    unsigned size, policy;
    unsigned long long flags;
    int nice;
    unsigned priority;
    unsigned long long runtime, deadline, period;
  } deadline = {.size = 48, .policy = 6, .runtime = 1000000, .deadline = 100000000, .period = 100000000};
  if (syscall(SYS_sched_setattr, 0, &deadline, 0) == 0) {
    back_to_normal();
    escaped("deadline scheduling was granted");
  }
  int before = getpriority(PRIO_PROCESS, 0);
  if (setpriority(PRIO_PROCESS, 0, before - 1) == 0 && getpriority(PRIO_PROCESS, 0) < before) {
    setpriority(PRIO_PROCESS, 0, before);
    escaped("nice went from %d to %d", before, before - 1);
  }
  enum { kIoPriorityProcess = 1, kRealTimeClass = 1 << 13 };
  if (syscall(SYS_ioprio_set, kIoPriorityProcess, 0, kRealTimeClass) == 0) escaped("real-time I/O priority was granted");
  held("every priority: %s", strerror(errno));
}
