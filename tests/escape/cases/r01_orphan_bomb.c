// R01 fork bomb of orphans: every process leaves its parent, session and group before it forks on, so no tree is left to follow.
// layers: cgroup rlimits
// layers(user): rlimits
// process: cgroup rlimits
// process(user): cgroup
// control: run
// flags: --pids 32
// expect: limit=pids
#include <stdatomic.h>
#include <sys/mman.h>

#include "hostile.h"

enum { kLimit = 32, kMost = kLimit + 50 };

struct Count {
  atomic_int alive, over;
};

int main(void) {
  struct Count* count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  int error = 0;
  for (int i = 0; i < kMost; ++i) {
    pid_t between = fork();
    if (between == 0) {
      setsid();
      if (fork() != 0) _exit(errno == EAGAIN ? 1 : 0);
      setsid();
      atomic_fetch_add(&count->alive, 1);
      // Orphans end by themselves: nothing may depend on this run being cleaned up.
      for (int wait = 0; wait < 400 && !atomic_load(&count->over); ++wait) usleep(50 * 1000);
      _exit(0);
    }
    if (between < 0) {
      error = errno;
      break;
    }
    int status = 0;
    if (waitpid(between, &status, 0) == between && WIFEXITED(status) && WEXITSTATUS(status) == 1) error = EAGAIN;
    if (error) break;
  }
  // The last place, which was too small for two at once.
  pid_t last = error ? fork() : -1;
  if (last == 0) {
    usleep(600 * 1000);
    _exit(0);
  }
  usleep(300 * 1000);
  int alive = atomic_load(&count->alive);
  atomic_store(&count->over, 1);
  if (alive > kLimit) escaped("%d orphans at once under a limit of %d", alive, kLimit);
  held("after %d orphans: %s", alive, strerror(error));
}
