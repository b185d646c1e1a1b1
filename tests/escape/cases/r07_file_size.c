// R07 one huge file: by writing, by seeking past the end, by truncating up; and again after lifting the limit.
// layers: rlimits
// process: rlimits
// control: run
// flags: --file-size 4M
#include <signal.h>
#include <sys/resource.h>

#include "hostile.h"

static const off_t kLimit = 4 << 20;

static off_t size_of(int file) {
  struct stat now;
  return fstat(file, &now) == 0 ? now.st_size : 0;
}

static void try_all(int file, const char* when) {
  if (ftruncate(file, 1LL << 40) == 0 && size_of(file) > kLimit) escaped("truncate to %lld bytes %s", (long long)size_of(file), when);
  if (pwrite(file, "x", 1, 1LL << 33) == 1) escaped("a byte at 8 GiB %s", when);
  if (fallocate(file, 0, 0, 3 * kLimit) == 0) escaped("fallocate of %lld bytes %s", (long long)size_of(file), when);
}

int main(void) {
  signal(SIGXFSZ, SIG_IGN);
  const char* directory = getenv("TMPDIR");
  char path[300];
  snprintf(path, sizeof path, "%s/huge-%d", directory ? directory : "/tmp", getpid());
  int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
  unlink(path);
  try_all(file, "at once");
  struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &none);
  try_all(file, "after setrlimit");
  held("%s", strerror(errno));
}
