// R07 a flood of empty files, directories, links and sockets: no bytes, but an inode each.
// layers: scratch
// process: scratch
// control: run
// flags: --inodes 500
// expect: limit=inodes
#include "hostile.h"

enum { kLimit = 500, kMost = 3 * kLimit };

static int make(const char* path, int kind) {
  switch (kind) {
    case 0: return symlink("x", path);
    case 1: return mkdir(path, 0700);
    case 2: return mkfifo(path, 0600);
    default: {
      int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
      return file < 0 ? -1 : close(file);
    }
  }
}

int main(void) {
  const char* directory = getenv("TMPDIR");
  char flood[300], path[400];
  snprintf(flood, sizeof flood, "%s/flood-%d", directory ? directory : "/tmp", getpid());
  if (mkdir(flood, 0700) != 0) cannot("mkdir %s: %s", flood, strerror(errno));
  int made = 0, error = 0;
  for (; made < kMost; ++made) {
    snprintf(path, sizeof path, "%s/%d", flood, made);
    if (make(path, made % 4) != 0) {
      error = errno;
      break;
    }
  }
  usleep(300 * 1000);
  for (int i = 0; i < made; ++i) {
    snprintf(path, sizeof path, "%s/%d", flood, i);
    if (unlink(path) != 0) rmdir(path);
  }
  rmdir(flood);
  if (made > kLimit) escaped("%d inodes under a limit of %d", made, kLimit);
  held("file %d: %s", made + 1, strerror(error));
}
