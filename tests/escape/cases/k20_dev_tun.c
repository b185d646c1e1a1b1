// K20 /dev/net/tun: opens it, for network interfaces.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/net/tun
#include "hostile.h"

int main(void) {
  if (open("/dev/net/tun", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/net/tun is open for writing");
  if (open("/dev/net/tun", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/net/tun is open");
  stopped("open /dev/net/tun");
}
