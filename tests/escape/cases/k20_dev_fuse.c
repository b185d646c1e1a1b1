// K20 /dev/fuse: opens it, for file systems whose answers it invents.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/fuse
#include "hostile.h"

int main(void) {
  if (open("/dev/fuse", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/fuse is open for writing");
  if (open("/dev/fuse", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/fuse is open");
  stopped("open /dev/fuse");
}
