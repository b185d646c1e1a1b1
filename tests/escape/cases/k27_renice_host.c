// K27 nice value of a host process with the same uid (to what it already is).
// layers: pid_ns uid
// layers(user): pid_ns
// process: uid
// process(user): seccomp
// control: run
// args: {pid}
#include <sys/resource.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  errno = 0;
  int nice = getpriority(PRIO_PROCESS, victim);
  if (nice == -1 && errno != 0) stopped("getpriority");
  if (setpriority(PRIO_PROCESS, victim, nice) == -1) stopped("setpriority");
  escaped("the priority of host process %d is ours to set", victim);
}
