// R07 disk fill without writing: fallocate and holes filled through a mapping.
// layers: scratch
// process: scratch
// control: run
// flags: --disk 16M --memory 256M
// expect(process): limit=disk
#include <signal.h>
#include <sys/mman.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 16, kMost = 3 * kLimit };

int main(void) {
  const char* directory = getenv("TMPDIR");
  char path[300];
  snprintf(path, sizeof path, "%s/hog-%d", directory ? directory : "/tmp", getpid());
  int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
  int allocated = fallocate(file, 0, 0, (off_t)kMost * kMiB);
  int error = errno;
  if (allocated != 0 && ftruncate(file, (off_t)kMost * kMiB) == 0) {
    // A full place turns the page fault into SIGBUS: let a child take it.
    pid_t child = fork();
    if (child == 0) {
      char* map = mmap(NULL, (size_t)kMost * kMiB, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (map != MAP_FAILED) memset(map, 1, (size_t)kMost * kMiB);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
  struct stat now;
  fstat(file, &now);
  long mib = now.st_blocks / 2048;
  usleep(300 * 1000);
  unlink(path);
  if (mib > kLimit + 1) escaped("%ld MiB allocated under a disk limit of %d MiB", mib, kLimit);
  held("fallocate: %s; by mapping %ld MiB", strerror(error), mib);
}
