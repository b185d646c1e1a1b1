// K27 affinity of a host process with the same uid (to what it already is).
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
  cpu_set_t cpus;
  if (sched_getaffinity(victim, sizeof cpus, &cpus) == -1) stopped("sched_getaffinity");
  if (sched_setaffinity(victim, sizeof cpus, &cpus) == -1) stopped("sched_setaffinity");
  escaped("the CPUs of host process %d are ours to choose", victim);
}
