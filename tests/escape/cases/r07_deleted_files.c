// R07 files without a name: O_TMPFILE and deleted files that stay open take space that no directory walk finds.
// layers: scratch
// process: scratch
// control: run
// flags: --disk 16M --memory 256M
// expect: limit=disk
#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 16, kMost = 3 * kLimit };

int main(void) {
  static char block[kMiB];
  memset(block, 1, sizeof block);
  const char* directory = getenv("TMPDIR");
  if (!directory) directory = "/tmp";
  int written = 0, error = 0;
  for (; written < kMost; ++written) {
    int file = written % 2 ? open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (file < 0) {
      char path[300];
      snprintf(path, sizeof path, "%s/gone-%d", directory, getpid());
      file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
      unlink(path);
    }
    if (file < 0 || write(file, block, sizeof block) != (ssize_t)sizeof block) {
      error = errno;
      break;
    }
  }
  usleep(300 * 1000);
  if (written > kLimit + 1) escaped("%d MiB in nameless files under a disk limit of %d MiB", written, kLimit);
  held("after %d MiB: %s", written, strerror(error));
}
