// R04 files that are memory: fills /tmp and /dev/shm where the disk limit would allow more than the memory limit.
// layers: cgroup
// process: cgroup
// control: none
// flags: --memory 32M --disk 512M
#include <linux/magic.h>
#include <sys/statfs.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 32, kEach = 2 * kLimit };

// Writes kEach MiB there if that place is memory. The MiB written.
static int fill(const char* directory) {
  struct statfs where;
  if (statfs(directory, &where) != 0 || where.f_type != TMPFS_MAGIC) return 0;
  char path[256];
  snprintf(path, sizeof path, "%s/hog-%d", directory, getpid());
  int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  unlink(path);
  static char block[kMiB];
  memset(block, 1, sizeof block);
  int written = 0;
  while (written < kEach && write(file, block, sizeof block) == (ssize_t)sizeof block) ++written;
  return written;
}

int main(void) {
  int written = fill("/tmp") + fill("/dev/shm");
  usleep(300 * 1000);
  if (written == 2 * kEach) escaped("%d MiB of tmpfs under a memory limit of %d MiB", written, kLimit);
  held("%d MiB in tmpfs", written);
}
