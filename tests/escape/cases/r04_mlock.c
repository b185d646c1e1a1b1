// R04 locked memory: pins pages so that nothing can reclaim them, more than the memory limit.
// layers: cgroup
// process: cgroup
// users: root
// control: kernel
// flags: --memory 64M
#include <sys/mman.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kMost = 2 * kLimit };

int main(void) {
  int locked = 0, error = 0;
  for (; locked < kMost; ++locked) {
    void* block = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED || mlock(block, kMiB) != 0) {
      error = errno;
      break;
    }
  }
  if (locked == kMost) escaped("%d MiB locked under a limit of %d MiB", locked, kLimit);
  held("mlock after %d MiB: %s", locked, strerror(error));
}
