// K07 sysfs: opens a file of /sys for writing that changes the whole host's kernel.
// layers: mount_ns landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kPaths[] = {"/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/profiling",
                                       "/sys/kernel/rcu_normal", "/sys/power/state"};
  int last = ENOENT;
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    if (open(kPaths[i], O_WRONLY | O_CLOEXEC) >= 0) escaped("%s is open for writing", kPaths[i]);
    if (errno != ENOENT) last = errno;
  }
  held("%s", strerror(last));
}
