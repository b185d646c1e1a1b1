// K20 /dev/userfaultfd: opens it, for page faults of the kernel, without the syscall.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/userfaultfd
#include "hostile.h"

int main(void) {
  if (open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/userfaultfd is open for writing");
  if (open("/dev/userfaultfd", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/userfaultfd is open");
  stopped("open /dev/userfaultfd");
}
