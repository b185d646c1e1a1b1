// K21 umount: takes a mask or a whole mount away to see what is beneath.
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
  static const char* const kPaths[] = {"/proc/kcore", "/proc/kallsyms", "/proc/keys", "/proc/timer_list", "/proc"};
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    if (umount2(kPaths[i], MNT_DETACH) == 0) escaped("%s is unmounted", kPaths[i]);
  }
  stopped("umount2");
}
