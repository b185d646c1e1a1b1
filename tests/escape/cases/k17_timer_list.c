// K17 timer_list: every timer of the host, with kernel addresses.
// layers: masks uid
// process: landlock uid
// control: run
// control(user): kernel
// needs: /proc/timer_list
#include "hostile.h"

int main(void) {
  int fd = open("/proc/timer_list", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/timer_list");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/proc/timer_list is empty");
  escaped("/proc/timer_list is readable");
}
