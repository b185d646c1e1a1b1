// K21 mount: covers /usr by a tmpfs.
// layers: seccomp caps landlock
// process: seccomp caps landlock
// control: run
// control(process user): kernel
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  // Where a mount namespace of our own is refused, an unknown file system shows how far the call came: ENODEV is too far.
  if (unshare(CLONE_NEWNS) == -1) judge_reach("mount", mount("none", "/", "no-such-file-system", 0, NULL));
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("tmpfs", "/usr", "tmpfs", 0, NULL) == -1) stopped("mount tmpfs on /usr");
  escaped("/usr is covered by a file system of our own");
}
