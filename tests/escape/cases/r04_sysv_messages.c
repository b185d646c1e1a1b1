// R04 System V message queues: 32 000 queues of 16 KiB each, in kernel memory.
// layers: cgroup
// process: seccomp cgroup
// users: root
// control: run
// flags: --memory 16M
// expect: limit=memory
// expect(process):
#include <sys/ipc.h>
#include <sys/msg.h>

#include "hostile.h"

enum { kLimit = 16, kMost = 4 * kLimit, kMessage = 8192, kQueues = kMost * (1 << 20) / (2 * kMessage) };

static int queues[kQueues];

int main(void) {
  static struct {
    long type;
    char text[kMessage];
  } message = {.type = 1};
  long parked = 0;
  int made = 0, error = 0;
  for (; made < kQueues; ++made) {
    queues[made] = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (queues[made] < 0) {
      error = errno;
      break;
    }
    while (msgsnd(queues[made], &message, kMessage, IPC_NOWAIT) == 0) parked += kMessage;
  }
  usleep(300 * 1000);
  for (int i = 0; i < made; ++i) msgctl(queues[i], IPC_RMID, NULL);
  if (parked >= (long)kMost << 20) escaped("%ld MiB in message queues under a limit of %d MiB", parked >> 20, kLimit);
  held("%ld KiB in message queues: %s", parked >> 10, strerror(error));
}
