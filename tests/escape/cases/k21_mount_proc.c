// K21 mount: a second procfs, without read-only and without masks.
// layers: seccomp caps landlock
// process: seccomp caps landlock
// control: kernel
// control(process root): run
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWNS) == -1) stopped("unshare(CLONE_NEWNS)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("proc", "/tmp", "proc", 0, NULL) == -1) stopped("mount proc");
  escaped("a fresh procfs is mounted");
}
