// K07 uevent_helper: opens /sys/kernel/uevent_helper for writing; the host runs what it names.
// layers: mount_ns landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /sys/kernel/uevent_helper
#include "hostile.h"

int main(void) {
  if (open("/sys/kernel/uevent_helper", O_WRONLY | O_CLOEXEC) == -1) stopped("open uevent_helper for writing");
  escaped("uevent_helper is open for writing");
}
