// K22 mount_setattr: clears the read-only flag of the whole tree.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <linux/mount.h>
#include <sched.h>

#include "hostile.h"

int main(void) {
  struct mount_attr clear = {.attr_clr = MOUNT_ATTR_RDONLY};
  if (unshare(CLONE_NEWNS) == -1) stopped("unshare(CLONE_NEWNS)");
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &clear, sizeof clear) == 0) escaped("the root is writable");
  stopped("mount_setattr");
}
