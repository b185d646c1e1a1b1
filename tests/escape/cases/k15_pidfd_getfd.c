// K15 pidfd_getfd: takes a descriptor out of the process that started it.
// layers: seccomp undumpable
// process: seccomp landlock caps
// process(user): seccomp landlock
// control: run
#include "hostile.h"

int main(void) {
  int pidfd = syscall(SYS_pidfd_open, getppid(), 0);
  if (pidfd == -1) stopped("pidfd_open parent");
  for (int fd = 0; fd < 64; ++fd) {
    if (syscall(SYS_pidfd_getfd, pidfd, fd, 0) >= 0) escaped("descriptor %d of process %d", fd, getppid());
    if (errno != EBADF) break;
  }
  if (errno == EBADF) escaped("the parent's descriptors can be asked for");
  stopped("pidfd_getfd");
}
