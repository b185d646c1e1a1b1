// K10 setns: joins a namespace by its /proc descriptor.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <sched.h>

#include "hostile.h"

int main(void) {
  int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/self/ns/uts");
  if (setns(fd, CLONE_NEWUTS) == 0) escaped("setns works");
  stopped("setns");
}
