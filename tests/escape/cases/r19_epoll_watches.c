// R19 epoll watches: every pair of an epoll and a descriptor is a kernel object; few descriptors make very many pairs.
// layers: cgroup
// process: cgroup
// users: root
// control: run
// flags: --memory 16M --open-files 2048
// expect: limit=memory
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "hostile.h"

enum { kWatchBytes = 128, kLimit = 16, kMost = 4 * kLimit * ((1 << 20) / kWatchBytes), kEach = 760 };

int main(void) {
  static int events[kEach];
  int count = 0, error = 0;
  for (; count < kEach; ++count) {
    events[count] = eventfd(0, EFD_CLOEXEC);
    if (events[count] < 0) break;
  }
  long watches = 0;
  while (watches < kMost && !error) {
    int poller = epoll_create1(EPOLL_CLOEXEC);
    if (poller < 0) {
      error = errno;
      break;
    }
    for (int i = 0; i < count; ++i) {
      struct epoll_event event = {.events = EPOLLIN};
      if (epoll_ctl(poller, EPOLL_CTL_ADD, events[i], &event) != 0) {
        error = errno;
        break;
      }
      ++watches;
    }
  }
  usleep(300 * 1000);
  if (watches >= kMost) escaped("%ld watches, at least %ld MiB, under a limit of %d MiB", watches, watches * kWatchBytes >> 20, kLimit);
  held("%ld watches: %s", watches, strerror(error));
}
