// K21 double chroot: chroot into a directory while the cwd stays outside, then climb.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include "hostile.h"

int main(void) {
  if (chroot("/usr") == -1) stopped("chroot");
  for (int i = 0; i < 40; ++i) {
    if (chdir("..") == -1) stopped("chdir ..");
  }
  escaped("chroot works, and the cwd is outside of it");
}
