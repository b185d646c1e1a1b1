// K22 remount: makes a read-only bind writable.
// layers: seccomp caps landlock
// process: seccomp caps landlock
// control: run
// control(process user): kernel
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWNS) == -1) stopped("unshare(CLONE_NEWNS)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  static const char* const kPaths[] = {"/usr", "/proc", "/"};
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    if (mount(NULL, kPaths[i], NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) == 0) escaped("%s is writable", kPaths[i]);
  }
  stopped("remount");
}
