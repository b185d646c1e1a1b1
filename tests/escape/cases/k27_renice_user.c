// K27 nice value of everyone: PRIO_USER with who = 0 means every process of the same uid, those of the host included.
// layers: pid_ns
// process: seccomp
// users: user
// control: run
// args: {pid}
#include <sys/resource.h>

#include "hostile.h"

int main(int argc, char** argv) {
  if (geteuid() == 0) cannot("as root this would change the whole host");
  pid_t victim = atoi(argument(argc, argv, 1));
  errno = 0;
  int before = getpriority(PRIO_PROCESS, victim);
  if (before == -1 && errno != 0) stopped("getpriority of a host process");
  int result = setpriority(PRIO_USER, 0, before + 1);
  // An error for one process does not keep the others from being changed.
  if (getpriority(PRIO_PROCESS, victim) != before) escaped("host process %d went from %d to %d", victim, before, before + 1);
  if (result == -1) stopped("setpriority(PRIO_USER)");
  held("only our own processes changed");
}
