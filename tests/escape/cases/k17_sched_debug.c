// K17 sched_debug: every task of the host.
// layers: mount_ns uid
// process: landlock uid
// control: run
// control(user): kernel
// needs: /sys/kernel/debug/sched/debug
#include "hostile.h"

int main(void) {
  int fd = open("/sys/kernel/debug/sched/debug", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /sys/kernel/debug/sched/debug");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/sys/kernel/debug/sched/debug is empty");
  escaped("/sys/kernel/debug/sched/debug is readable");
}
