// K27 limits of a host process with the same uid (to what it already is).
// layers: seccomp pid_ns uid
// layers(user): seccomp pid_ns
// process: seccomp uid
// process(user): seccomp
// control: run
// args: {pid}
#include <sys/resource.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  struct rlimit files;
  if (prlimit(victim, RLIMIT_NOFILE, NULL, &files) == -1) stopped("prlimit: read");
  if (prlimit(victim, RLIMIT_NOFILE, &files, NULL) == -1) stopped("prlimit: set");
  escaped("the limits of host process %d are ours to set", victim);
}
