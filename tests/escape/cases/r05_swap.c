// R05 swap: pushes its pages out as it goes, so that the memory limit alone would let it have all of the host's swap.
// layers: cgroup
// process: cgroup
// control: run
// flags: --memory 64M
// expect: limit=memory
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kMost = 4 * kLimit };

int main(void) {
  struct sysinfo host;
  if (sysinfo(&host) != 0 || host.totalswap == 0) cannot("this host has no swap");
  for (int i = 0; i < kMost; ++i) {
    char* block = mmap(NULL, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) held("mmap after %d MiB: %s", i, strerror(errno));
    memset(block, 1, kMiB);
    madvise(block, kMiB, MADV_PAGEOUT);
  }
  escaped("%d MiB, partly in swap, under a limit of %d MiB", kMost, kLimit);
}
