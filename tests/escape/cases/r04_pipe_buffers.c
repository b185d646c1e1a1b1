// R04 pipe buffers: bytes parked in pipes are kernel memory.
// layers: cgroup
// process: cgroup
// users: root
// control: run
// flags: --memory 16M --pids 64 --open-files 512
// expect: limit=memory
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "hostile.h"

enum { kKiB = 1024, kLimit = 16, kMost = 4 * kLimit, kChildren = 40, kPipes = 240 };

static void fill(atomic_long* parked, long most) {
  static char block[4096];
  for (int i = 0; i < kPipes; ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    ssize_t put;
    while (atomic_load(parked) < most && (put = write(ends[1], block, sizeof block)) > 0) atomic_fetch_add(parked, put);
  }
}

int main(void) {
  const long most = (long)kMost * kKiB * kKiB;
  atomic_long* parked = mmap(NULL, sizeof *parked, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (parked == MAP_FAILED) cannot("mmap: %s", strerror(errno));
  int stopped = 0;
  for (int i = 0; i < kChildren && !stopped && atomic_load(parked) < most; ++i) {
    int done[2];
    if (pipe2(done, O_CLOEXEC) != 0) break;
    pid_t child = fork();
    if (child < 0) break;
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      fill(parked, most);
      (void)!write(done[1], "", 1);
      sleep(15);
      _exit(0);
    }
    close(done[1]);
    char byte;
    if (read(done[0], &byte, 1) != 1) stopped = 1;  // it was killed while it filled
    close(done[0]);
  }
  long mib = atomic_load(parked) >> 20;
  usleep(300 * 1000);
  if (mib >= kMost) escaped("%ld MiB in pipes under a limit of %d MiB", mib, kLimit);
  held("%ld MiB in pipes%s", mib, stopped ? ", then a child was killed" : "");
}
