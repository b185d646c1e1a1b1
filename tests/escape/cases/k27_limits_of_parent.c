// K27 limits of the launcher: prlimit on the process that started it (to what it already is).
// layers: seccomp
// process: seccomp uid
// process(user): seccomp
// control: run
#include <sys/resource.h>

#include "hostile.h"

int main(void) {
  struct rlimit files;
  if (prlimit(getppid(), RLIMIT_NOFILE, NULL, &files) == -1) stopped("prlimit: read the parent's limit");
  if (prlimit(getppid(), RLIMIT_NOFILE, &files, NULL) == -1) stopped("prlimit: set the parent's limit");
  escaped("the limits of process %d are ours to set", getppid());
}
