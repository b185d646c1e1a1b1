// R04 memory spread over children: each one stays below every per-process limit, together they hold four times the limit.
// layers: cgroup
// process: cgroup
// control: run
// flags: --memory 64M --pids 64
// expect: limit=memory
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kChildren = 32, kEach = 4 * kLimit / kChildren };

int main(void) {
  atomic_int* full = mmap(NULL, sizeof *full, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (full == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  for (int i = 0; i < kChildren; ++i) {
    pid_t child = fork();
    if (child < 0) cannot("fork: %s", strerror(errno));
    if (child > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char* block = mmap(NULL, kEach * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) _exit(1);
    memset(block, 1, kEach * kMiB);
    atomic_fetch_add(full, 1);
    sleep(20);
    _exit(0);
  }
  // Full for a second: a limit that is sampled has looked by then, on a busy machine too.
  for (int wait = 0, full_for = 0; wait < 200; ++wait) {
    full_for += atomic_load(full) == kChildren;
    if (full_for > 20) escaped("%d MiB in %d children under a limit of %d MiB", kChildren * kEach, kChildren, kLimit);
    if (waitpid(-1, NULL, WNOHANG) > 0) held("a child was stopped with %d full", atomic_load(full));
    usleep(50 * 1000);
  }
  held("only %d children got their memory", atomic_load(full));
}
