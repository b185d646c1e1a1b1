// R19 lifts its own limits: every resource, by setrlimit and by prlimit on itself, its parent and the first process.
// layers: caps uid user_ns
// process: caps uid
// users: root
// control: kernel
#include <sys/resource.h>

#include "hostile.h"

static const int kResources[] = {RLIMIT_AS,  RLIMIT_CORE,       RLIMIT_CPU,    RLIMIT_DATA,   RLIMIT_FSIZE,  RLIMIT_MEMLOCK,
                                 RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_RTPRIO, RLIMIT_SIGPENDING};

// Whether `process` got more of `resource` than it may ask for.
static int raised(pid_t process, int resource) {
  struct rlimit old, now;
  if (prlimit(process, resource, NULL, &old) != 0 || old.rlim_max == RLIM_INFINITY) return 0;
  struct rlimit more = {old.rlim_max + 1, old.rlim_max + 1};
  if (prlimit(process, resource, &more, NULL) != 0) return 0;
  if (prlimit(process, resource, NULL, &now) != 0 || now.rlim_max <= old.rlim_max) return 0;
  prlimit(process, resource, &old, NULL);
  return 1;
}

int main(void) {
  pid_t processes[] = {0, getppid(), 1};
  int looked_at = 0;
  for (unsigned p = 0; p < 3; ++p) {
    for (unsigned r = 0; r < sizeof kResources / sizeof *kResources; ++r) {
      struct rlimit now;
      if (prlimit(processes[p], kResources[r], NULL, &now) == 0) ++looked_at;
      if (raised(processes[p], kResources[r])) escaped("limit %d of process %d went up", kResources[r], (int)processes[p]);
    }
  }
  held("%d limits stay: %s", looked_at, strerror(errno));
}
