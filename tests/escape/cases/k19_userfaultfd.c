// K19 userfaultfd: stops the kernel in the middle of a copy, the helper of many exploits.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/userfaultfd.h>

#include "hostile.h"

int main(void) {
  if (syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY) >= 0) escaped("page faults are ours to answer");
  stopped("userfaultfd");
}
