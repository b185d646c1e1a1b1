// K20 /dev/kvm: opens it, for virtual machines, with the kernel's largest ioctl surface.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/kvm
#include "hostile.h"

int main(void) {
  if (open("/dev/kvm", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/kvm is open for writing");
  if (open("/dev/kvm", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/kvm is open");
  stopped("open /dev/kvm");
}
