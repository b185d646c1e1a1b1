// K26 core handler, rearmed: changes the core limit from 1 to 0, after which a crash starts the host's handler again.
// layers: seccomp
// process: seccomp
// control: observe
#include <sys/resource.h>

#include "hostile.h"

int main(void) {
  struct rlimit none = {0, 0};
  struct rlimit core = {1, 1};
  if (setrlimit(RLIMIT_CORE, &none) == 0) escaped("by setrlimit");
  if (syscall(SYS_setrlimit, RLIMIT_CORE, &none) == 0) escaped("by the old setrlimit");
  if (prlimit(getpid(), RLIMIT_CORE, &none, NULL) == 0) escaped("by prlimit of its own pid");
  if (getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur != 1) escaped("the limit is %llu", (unsigned long long)core.rlim_cur);
  held("the core limit cannot be changed");
}
