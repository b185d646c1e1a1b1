// K10 user namespace: clone(CLONE_NEWUSER), without passing unshare.
// layers: seccomp
// process: seccomp
// control: run
#include <sched.h>
#include <signal.h>

#include "hostile.h"

int main(void) {
  long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) escaped("a child in a user namespace of its own");
  stopped("clone(CLONE_NEWUSER)");
}
