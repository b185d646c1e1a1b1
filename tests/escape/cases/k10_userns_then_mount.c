// K10 user namespace, then a mount with the capabilities gained there.
// layers: seccomp landlock
// process: seccomp landlock
// control: run
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1) stopped("unshare(user, mount)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("tmpfs", "/usr", "tmpfs", 0, NULL) == -1) stopped("mount tmpfs on /usr");
  escaped("/usr is covered by a file system of our own");
}
