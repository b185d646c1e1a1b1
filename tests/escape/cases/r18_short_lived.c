// R18 CPU time in crumbs: orphans that burn a few milliseconds and are gone before anyone looks, reaped by somebody else.
// layers: code
// process: code
// flags: --cpu-time 1s --pids 64
// expect: limit=cpu_time
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "hostile.h"

enum { kLimit = 1, kMost = 6, kCrumbMs = 3 };

static double cpu_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

int main(void) {
  atomic_long* burnt_ms = mmap(NULL, sizeof *burnt_ms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (burnt_ms == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  time_t end = time(NULL) + 25;
  while (atomic_load(burnt_ms) < kMost * 1000L) {
    if (time(NULL) > end) held("only %ld ms of CPU time", atomic_load(burnt_ms));
    pid_t between = fork();
    if (between == 0) {
      if (fork() == 0) {
        setsid();
        while (cpu_ms() < kCrumbMs) continue;
        atomic_fetch_add(burnt_ms, kCrumbMs);
      }
      _exit(0);
    }
    if (between > 0) waitpid(between, NULL, 0);
    usleep(2000);
  }
  escaped("%ld ms of CPU time under a limit of %d s", atomic_load(burnt_ms), kLimit);
}
