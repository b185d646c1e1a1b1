// R01 fork bomb: forks children that stay, until it is stopped.
// layers: cgroup rlimits
// layers(user): rlimits
// process: cgroup rlimits
// process(user): cgroup
// control: run
// flags: --pids 32
// expect: limit=pids
#include <signal.h>
#include <sys/prctl.h>

#include "hostile.h"

enum { kLimit = 32, kMost = kLimit + 50 };

int main(void) {
  pid_t children[kMost];
  int made = 0, error = 0;
  for (; made < kMost; ++made) {
    pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      sleep(20);
      _exit(0);
    }
    if (child < 0) {
      error = errno;
      break;
    }
    children[made] = child;
  }
  usleep(300 * 1000);
  for (int i = 0; i < made; ++i) kill(children[i], SIGKILL);
  if (made > kLimit) escaped("%d children at once under a limit of %d", made, kLimit);
  held("fork %d: %s", made + 1, strerror(error));
}
