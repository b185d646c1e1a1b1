// K17 sysfs: firmware tables, DMI and kernel settings of the host.
// layers: mount_ns
// process: landlock
// control: run
#include "hostile.h"

int main(void) {
  int fd = open("/sys/kernel/uevent_seqnum", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /sys/kernel/uevent_seqnum");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/sys/kernel/uevent_seqnum is empty");
  escaped("/sys/kernel/uevent_seqnum is readable");
}
