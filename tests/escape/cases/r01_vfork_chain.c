// R01 vfork bomb: each child vforks the next and its parent stays suspended, so a whole chain of tasks hangs in the kernel.
// layers: cgroup rlimits
// layers(user): rlimits
// process: cgroup rlimits
// process(user): cgroup
// control: run
// flags: --pids 32
// expect: limit=pids
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "hostile.h"

enum { kLimit = 32, kMost = kLimit + 50 };

struct Chain {
  int made, error;
};

static char stacks[kMost + 1][16384];
static struct Chain* chain;

// CLONE_VFORK without CLONE_VM: every link has its own memory, and waits for the next one to exit.
static int link_in(void* depth_pointer) {
  long depth = (long)depth_pointer;
  chain->made = (int)depth;
  if (depth == kMost) {
    usleep(300 * 1000);
    return 0;
  }
  if (clone(link_in, stacks[depth + 1] + sizeof stacks[0], CLONE_VFORK | SIGCHLD, (void*)(depth + 1)) < 0) {
    chain->error = errno;
    usleep(300 * 1000);
  }
  return 0;
}

int main(void) {
  chain = mmap(NULL, sizeof *chain, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (chain == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  link_in((void*)0);
  if (chain->made > kLimit) escaped("%d suspended parents under a limit of %d", chain->made, kLimit);
  held("link %d: %s", chain->made + 1, strerror(chain->error));
}
