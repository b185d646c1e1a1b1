// K21 new mount API: fsopen, fsconfig, fsmount; the detached file system is usable without attaching it.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <linux/mount.h>

#include "hostile.h"

int main(void) {
  int context = syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
  if (context == -1) stopped("fsopen");
  if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1) stopped("fsconfig");
  if (syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0) == -1) stopped("fsmount");
  escaped("a detached tmpfs is ours");
}
