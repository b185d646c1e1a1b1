// K20 /dev/loop-control: opens it, for loop devices.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/loop-control
#include "hostile.h"

int main(void) {
  if (open("/dev/loop-control", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/loop-control is open for writing");
  if (open("/dev/loop-control", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/loop-control is open");
  stopped("open /dev/loop-control");
}
