// K34 high bits: arguments whose upper half the kernel ignores, but a 64-bit comparison in a filter does not (CVE-2019-7303).
// layers: seccomp
// process: seccomp
// control: run
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include "hostile.h"

int main(void) {
  const unsigned long kHigh = 1UL << 32;
  if (syscall(SYS_personality, kHigh | ADDR_NO_RANDOMIZE) != -1) escaped("personality with a high bit");
  if (syscall(SYS_socket, kHigh | AF_VSOCK, SOCK_STREAM, 0) >= 0) escaped("AF_VSOCK with a high bit");
  if (syscall(SYS_socket, AF_NETLINK, SOCK_RAW, kHigh | 12 /* NETLINK_NETFILTER */) >= 0) escaped("netfilter with a high bit");
  long child = syscall(SYS_clone, kHigh | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) escaped("a user namespace with a high bit");
  stopped("clone");
}
