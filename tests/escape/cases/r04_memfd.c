// R04 memory behind descriptors: a memfd that is written but never mapped belongs to no process's resident set.
// layers: cgroup
// process: cgroup
// control: run
// flags: --memory 64M
// expect: limit=memory
#include <sys/mman.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kMost = 4 * kLimit, kPerFile = 8 };

int main(void) {
  static char block[kMiB];
  memset(block, 1, sizeof block);
  int file = -1;
  for (int i = 0; i < kMost; ++i) {
    if (i % kPerFile == 0) file = memfd_create("hog", MFD_CLOEXEC);
    if (file < 0) held("memfd_create after %d MiB: %s", i, strerror(errno));
    if (write(file, block, sizeof block) != (ssize_t)sizeof block) held("write after %d MiB: %s", i, strerror(errno));
  }
  usleep(300 * 1000);
  escaped("%d MiB in memfds under a limit of %d MiB", kMost, kLimit);
}
