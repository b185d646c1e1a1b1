// K17 debugfs: mounts it to read and steer the kernel's insides.
// layers: seccomp caps landlock user_ns
// process: seccomp caps landlock
// control: run
// control(user): kernel
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWNS) == -1) stopped("unshare(CLONE_NEWNS)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("debugfs", "/proc", "debugfs", 0, NULL) == -1) stopped("mount debugfs");
  escaped("debugfs is mounted");
}
