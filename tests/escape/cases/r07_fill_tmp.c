// R07 disk fill: writes three times the disk limit into every private place, all of them together.
// layers: scratch
// process: scratch
// control: run
// flags: --disk 16M --memory 256M
// expect: limit=disk
#include "hostile.h"

enum { kKiB64 = 65536, kLimit = 16, kMost = 3 * kLimit };

static char paths[8][300];
static int error;

// Writes up to `most` bytes to a file in `directory`; the bytes that fitted.
static long fill(int number, const char* directory, long most) {
  snprintf(paths[number], sizeof paths[number], "%s/hog-%d", directory, getpid());
  int file = open(paths[number], O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) {
    paths[number][0] = '\0';
    return 0;
  }
  static char block[kKiB64];
  memset(block, 1, sizeof block);
  long written = 0;
  ssize_t put = 0;
  while (written < most && (put = write(file, block, sizeof block)) > 0) written += put;
  if (put < 0) error = errno;
  close(file);
  return written;
}

int main(void) {
  const long most = (long)kMost << 20;
  const char* home = getenv("HOME");
  const char* tmp = getenv("TMPDIR");
  const char* places[] = {"/tmp", "/dev/shm", "/var/tmp", home ? home : "/home/agent", tmp ? tmp : "/tmp/none", ".", "/run", "/home"};
  long written = 0;
  for (int i = 0; i < 8; ++i) written += fill(i, places[i], most - written);
  usleep(300 * 1000);
  for (int i = 0; i < 8; ++i) {
    if (paths[i][0]) unlink(paths[i]);
  }
  if (written > (long)(kLimit + 1) << 20) escaped("%ld KiB written under a disk limit of %d MiB", written >> 10, kLimit);
  held("%ld KiB, then: %s", written >> 10, strerror(error));
}
