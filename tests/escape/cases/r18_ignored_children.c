// R18 CPU time that nobody inherits: with SIGCHLD ignored a child's time is added to no parent when it ends.
// layers: code
// process: code
// flags: --cpu-time 1s --pids 64
// expect: limit=cpu_time
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "hostile.h"

enum { kLimit = 1, kMost = 6, kCrumbMs = 4 };

static double cpu_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6;
}

int main(void) {
  atomic_long* burnt_ms = mmap(NULL, sizeof *burnt_ms, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (burnt_ms == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  signal(SIGCHLD, SIG_IGN);
  time_t end = time(NULL) + 25;
  while (atomic_load(burnt_ms) < kMost * 1000L) {
    if (time(NULL) > end) held("only %ld ms of CPU time", atomic_load(burnt_ms));
    if (fork() == 0) {
      while (cpu_ms() < kCrumbMs) continue;
      atomic_fetch_add(burnt_ms, kCrumbMs);
      _exit(0);
    }
    usleep(kCrumbMs * 1000);
  }
  escaped("%ld ms of CPU time under a limit of %d s", atomic_load(burnt_ms), kLimit);
}
