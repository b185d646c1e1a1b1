// K22 remount from a nested user namespace, where the kernel locks the flags of inherited mounts.
// layers: seccomp landlock
// process: none
// control: kernel
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1) stopped("unshare(user, mount)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) == 0) escaped("/usr is writable");
  stopped("remount");
}
