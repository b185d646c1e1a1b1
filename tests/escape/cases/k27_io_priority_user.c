// K27 I/O priority of everyone: ioprio_set for every process of the same uid, those of the host included.
// layers: pid_ns
// process: seccomp
// users: user
// control: run
// args: {pid}
#include <linux/ioprio.h>

#include "hostile.h"

int main(int argc, char** argv) {
  if (geteuid() == 0) cannot("as root this would change the whole host");
  pid_t victim = atoi(argument(argc, argv, 1));
  int before = syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, victim);
  if (before == -1) stopped("ioprio_get of a host process");
  int next = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, before == IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 5) ? 6 : 5);
  // The first process with more capabilities than ours ends the round, and such come and go.
  for (int i = 0; i < 20; ++i) {
    int result = syscall(SYS_ioprio_set, IOPRIO_WHO_USER, getuid(), next);
    int error = errno;
    if (syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, victim) == next) escaped("the I/O priority of host process %d changed", victim);
    errno = error;
    if (result == 0) break;
    if (i == 19) stopped("ioprio_set(IOPRIO_WHO_USER)");
    usleep(5000);
  }
  held("only our own processes changed");
}
