// R19 extended attributes: bytes that belong to a file but to no block of it.
// layers: scratch cgroup
// process: cgroup
// users: root
// control: kernel
// flags: --disk 16M --memory 32M
// expect: limit=memory
// expect(process):
#include <sys/xattr.h>

#include "hostile.h"

enum { kLimit = 32, kMost = 4 * kLimit * 16 };  // in attributes of 64 KiB

int main(void) {
  const char* directory = getenv("TMPDIR");
  char path[300], name[64];
  snprintf(path, sizeof path, "%s/xattr-%d", directory ? directory : "/tmp", getpid());
  int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
  unlink(path);
  static char value[65536];
  memset(value, 1, sizeof value);
  int made = 0, error = 0;
  for (; made < kMost; ++made) {
    snprintf(name, sizeof name, "user.%d", made);
    if (fsetxattr(file, name, value, sizeof value, 0) != 0) {
      error = errno;
      break;
    }
  }
  usleep(300 * 1000);
  if (made == kMost) escaped("%d MiB of attributes under a memory limit of %d MiB", made / 16, kLimit);
  held("after %d KiB of attributes: %s", made * 64, strerror(error));
}
