// K20 mknod: makes the device node of /dev/mem where it may write.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: observe
// control(user): kernel
#include <sys/sysmacros.h>

#include "hostile.h"

int main(void) {
  enter_scratch();
  int made = mknod("memory", S_IFCHR | 0600, makedev(1, 1));
  int error = errno;
  unlink("memory");
  leave_scratch();
  errno = error;
  if (made == 0) escaped("a device node was made");
  stopped("mknod");
}
