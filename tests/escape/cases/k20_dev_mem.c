// K20 /dev/mem: opens it, for the host's memory.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/mem
#include "hostile.h"

int main(void) {
  if (open("/dev/mem", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/mem is open for writing");
  if (open("/dev/mem", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/mem is open");
  stopped("open /dev/mem");
}
