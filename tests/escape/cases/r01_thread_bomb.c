// R01 thread bomb: threads are tasks too, and need no fork.
// layers: cgroup rlimits
// layers(user): rlimits
// process: cgroup rlimits
// process(user): cgroup
// control: run
// flags: --pids 32
// expect: limit=pids
#include <pthread.h>

#include "hostile.h"

enum { kLimit = 32, kMost = kLimit + 50 };

static void* stay(void* unused) {
  sleep(20);
  return unused;
}

int main(void) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 * 1024);
  int made = 0, error = 0;
  for (; made < kMost; ++made) {
    pthread_t thread;
    error = pthread_create(&thread, &small, stay, NULL);
    if (error) break;
  }
  usleep(300 * 1000);
  if (made > kLimit) escaped("%d threads at once under a limit of %d", made, kLimit);
  held("thread %d: %s", made + 1, strerror(error));
}
