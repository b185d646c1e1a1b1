// K09 leaving: opens the root cgroup's member lists for writing, to move itself out of its limits.
// layers: mount_ns landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kRoots[] = {"", "/unified", "/memory", "/pids", "/cpu", "/freezer", "/systemd"};
  int last = ENOENT;
  for (size_t i = 0; i < sizeof kRoots / sizeof *kRoots; ++i) {
    char path[128];
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cgroup.procs", kRoots[i]);
    if (open(path, O_WRONLY | O_CLOEXEC) >= 0) escaped("%s is open for writing", path);
    if (errno != ENOENT) last = errno;
  }
  held("%s", strerror(last));
}
