// R04 anonymous memory: touches four times what it may have.
// layers: cgroup
// process: cgroup
// control: run
// flags: --memory 64M
// expect: limit=memory
#include <sys/mman.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kMost = 4 * kLimit };

int main(void) {
  for (int i = 0; i < kMost; ++i) {
    char* block = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) held("mmap after %d MiB: %s", i, strerror(errno));
    memset(block, 1, kMiB);
  }
  escaped("%d MiB under a limit of %d MiB", kMost, kLimit);
}
