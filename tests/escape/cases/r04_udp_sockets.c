// R04 socket buffers of the network stack: datagrams on loopback that nobody reads; the kernel has one pool of them for the whole host.
// layers: cgroup
// process: cgroup seccomp
// users: root
// control: run
// flags: --memory 16M --open-files 1024
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "hostile.h"

enum { kLimit = 16, kMost = 4 * kLimit, kSockets = 1000 };

// A receiver bound to a free port of loopback; its address goes to `where`.
static int receiver(struct sockaddr_in* where) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  *where = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof *where;
  if (bind(fd, (struct sockaddr*)where, length) != 0) return -1;
  return getsockname(fd, (struct sockaddr*)where, &length) == 0 ? fd : -1;
}

// Bytes that the kernel keeps for this socket.
static long queued(int fd) {
  unsigned memory[9] = {0};  // SK_MEMINFO_RMEM_ALLOC first
  socklen_t length = sizeof memory;
  return getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0 ? memory[0] : 0;
}

int main(void) {
  static char block[1400];
  const long most = (long)kMost << 20;
  long parked = 0;
  int error = 0;
  int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) held("socket: %s", strerror(errno));
  for (int i = 0; i < kSockets && parked < most; ++i) {
    struct sockaddr_in where;
    int fd = receiver(&where);
    if (fd < 0) {
      error = errno;
      break;
    }
    for (int n = 0; n < 400; ++n) {
      if (sendto(sender, block, sizeof block, MSG_DONTWAIT, (struct sockaddr*)&where, sizeof where) < 0) {
        error = errno;
        break;
      }
    }
    long here = queued(fd);
    if (here == 0) break;
    parked += here;
  }
  usleep(300 * 1000);
  if (parked >= most) escaped("%ld MiB in UDP sockets under a limit of %d MiB", parked >> 20, kLimit);
  held("%ld MiB in UDP sockets: %s", parked >> 20, strerror(error));
}
