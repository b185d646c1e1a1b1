// K20 /dev/vhost-net: opens it, for the host's network through vhost.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /dev/vhost-net
#include "hostile.h"

int main(void) {
  if (open("/dev/vhost-net", O_RDWR | O_CLOEXEC) >= 0) escaped("/dev/vhost-net is open for writing");
  if (open("/dev/vhost-net", O_RDONLY | O_CLOEXEC) >= 0) escaped("/dev/vhost-net is open");
  stopped("open /dev/vhost-net");
}
