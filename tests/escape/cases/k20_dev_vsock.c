// K20 /dev/vsock: opens it, for the hypervisor.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/vsock
#include "hostile.h"

int main(void) {
  if (open("/dev/vsock", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/vsock is open for writing");
  if (open("/dev/vsock", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/vsock is open");
  stopped("open /dev/vsock");
}
