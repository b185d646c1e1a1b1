// R04 System V shared memory: segments that are filled and detached belong to no process.
// layers: cgroup
// layers(user): seccomp
// process: seccomp cgroup
// process(user): seccomp
// control: run
// flags: --memory 64M
// expect: limit=memory
// expect(process):
// expect(user):
#include <sys/ipc.h>
#include <sys/shm.h>

#include "hostile.h"

enum { kMiB = 1 << 20, kLimit = 64, kEach = 8, kSegments = 4 * kLimit / kEach };

static int segments[kSegments];

static int fill(int i) {
  segments[i] = shmget(IPC_PRIVATE, kEach * kMiB, IPC_CREAT | 0600);
  if (segments[i] < 0) return errno;
  void* block = shmat(segments[i], NULL, 0);
  if (block == (void*)-1) return errno;
  memset(block, 1, kEach * kMiB);
  shmdt(block);
  return 0;
}

int main(void) {
  int made = 0, error = 0;
  while (made < kSegments && (error = fill(made)) == 0) ++made;
  usleep(300 * 1000);
  // In a host's IPC namespace they would stay for ever.
  for (int i = 0; i < made; ++i) shmctl(segments[i], IPC_RMID, NULL);
  if (made == kSegments) escaped("%d MiB of shared memory under a limit of %d MiB", made * kEach, kLimit);
  held("segment %d: %s", made + 1, strerror(error));
}
