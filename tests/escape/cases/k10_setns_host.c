// K10 setns to a host process: by pidfd, all namespaces at once.
// layers: seccomp pid_ns landlock user_ns caps
// process: seccomp landlock caps
// control: run
// control(process user): kernel
// control(user): kernel
// args: {pid}
#include <sched.h>

#include "hostile.h"

int main(int argc, char** argv) {
  int fd = syscall(SYS_pidfd_open, atoi(argument(argc, argv, 1)), 0);
  if (fd == -1) stopped("pidfd_open of a host process");
  if (setns(fd, CLONE_NEWUTS) == 0) escaped("in the host's namespace");
  stopped("setns to the host");
}
