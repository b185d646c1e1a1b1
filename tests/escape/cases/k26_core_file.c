// K26 core dump: crashes with the largest core limit that it can get.
// layers: rlimits seccomp
// process: rlimits seccomp
// control: run
#include <signal.h>
#include <sys/resource.h>

#include "hostile.h"

int main(void) {
  enter_scratch();
  struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_CORE, &most) == -1) {
    if (getrlimit(RLIMIT_CORE, &most) == -1) stopped("getrlimit");
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_CORE, &most);
  }
  pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    abort();
  }
  int status = 0;
  waitpid(child, &status, 0);
  char numbered[32];
  snprintf(numbered, sizeof numbered, "core.%d", child);
  unlink("core");
  unlink(numbered);
  leave_scratch();
  if (WCOREDUMP(status)) escaped("a core was dumped, up to %llu bytes", (unsigned long long)most.rlim_cur);
  held("no core: the limit is %llu", (unsigned long long)most.rlim_max);
}
