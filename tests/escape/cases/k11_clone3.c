// K11 clone3: its flags lie behind a pointer, where a filter cannot read them.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/sched.h>
#include <signal.h>

#include "hostile.h"

int main(void) {
  struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
  long child = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) _exit(0);
  if (child > 0) escaped("clone3 made a user namespace");
  if (errno != ENOSYS) held("clone3: %s (libc falls back only on ENOSYS)", strerror(errno));
  stopped("clone3");
}
