// K27 scheduling policy of a host process with the same uid (to what it already is).
// layers: pid_ns uid
// layers(user): pid_ns
// process: uid
// process(user): seccomp
// control: run
// args: {pid}
#include <sched.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  struct sched_param parameters;
  int policy = sched_getscheduler(victim);
  if (policy == -1 || sched_getparam(victim, &parameters) == -1) stopped("sched_getscheduler");
  if (sched_setscheduler(victim, policy, &parameters) == -1) stopped("sched_setscheduler");
  escaped("the scheduling of host process %d is ours to set", victim);
}
