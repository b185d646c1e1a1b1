// R18 CPU time of many: each process stays below the limit, together they use several times as much.
// layers: code
// process: code
// flags: --cpu-time 1s --pids 64
// expect: limit=cpu_time
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "hostile.h"

enum { kChildren = 8 };

int main(void) {
  for (int i = 0; i < kChildren; ++i) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct timespec used = {0};
    while (used.tv_sec == 0 && used.tv_nsec < 800 * 1000 * 1000) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    _exit(0);
  }
  int finished = 0;
  while (wait(NULL) > 0) ++finished;
  escaped("%d children had 0.8 s of CPU time each under a limit of 1 s together", finished);
}
