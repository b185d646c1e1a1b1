// K20 /dev/kmsg: opens it, to write lines into the host's kernel log.
// layers: dev uid landlock
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/kmsg
#include "hostile.h"

int main(void) {
  if (open("/dev/kmsg", O_WRONLY | O_CLOEXEC) >= 0) escaped("/dev/kmsg is open for writing");
  if (open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC) >= 0) escaped("/dev/kmsg is open");
  stopped("open /dev/kmsg");
}
