// K26 core handler: a crash starts the handler that core_pattern pipes to, on the host and as its root, whatever the
// core limit says; only a limit of exactly 1 byte stops that (core(5); fs/coredump.c).
// layers: rlimits
// process: rlimits
// control: observe
#include <sys/resource.h>

#include "hostile.h"

int main(void) {
  struct rlimit core;
  if (getrlimit(RLIMIT_CORE, &core) == -1) stopped("getrlimit");
  if (core.rlim_cur != 1) escaped("a piped core handler would run: the limit is %llu", (unsigned long long)core.rlim_cur);
  held("the limit is 1: the kernel refuses to start a handler");
}
