// K24 host's root: looks whether its own uid or gid is 0 on the host.
// layers: uid
// process: uid
// users: root
// control: run
#include "hostile.h"

// The host's id behind an id of this namespace; the id itself where nothing is mapped.
static long on_host(const char* map, unsigned id) {
  FILE* file = fopen(map, "re");
  if (!file) return id;
  unsigned long inside, outside, count;
  while (fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3) {
    if (id >= inside && id < inside + count) return (long)(outside + (id - inside));
  }
  return 65534;
}

int main(void) {
  if (on_host("/proc/self/uid_map", getuid()) == 0) escaped("uid %d is the host's root", getuid());
  if (on_host("/proc/self/uid_map", geteuid()) == 0) escaped("euid %d is the host's root", geteuid());
  if (on_host("/proc/self/gid_map", getgid()) == 0) escaped("gid %d is the host's root group", getgid());
  held("uid %d is %ld on the host", getuid(), on_host("/proc/self/uid_map", getuid()));
}
