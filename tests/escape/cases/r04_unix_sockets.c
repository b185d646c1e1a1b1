// R04 socket buffers: messages that nobody reads are kernel memory.
// layers: cgroup
// process: cgroup
// users: root
// control: run
// flags: --memory 16M --open-files 512
// expect: limit=memory
#include <sys/socket.h>

#include "hostile.h"

enum { kLimit = 16, kMost = 4 * kLimit, kPairs = 240 };

static char block[8192];

static long fill(int end, long most) {
  long parked = 0;
  ssize_t put;
  while (parked < most && (put = write(end, block, sizeof block)) > 0) parked += put;
  return parked;
}

int main(void) {
  const long most = (long)kMost << 20;
  long parked = 0;
  int error = 0;
  for (int i = 0; i < kPairs && parked < most; ++i) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      error = errno;
      break;
    }
    parked += fill(ends[0], most - parked);
    parked += fill(ends[1], most - parked);
  }
  usleep(300 * 1000);
  if (parked >= most) escaped("%ld MiB in sockets under a limit of %d MiB", parked >> 20, kLimit);
  held("%ld MiB in sockets: %s", parked >> 20, strerror(error));
}
