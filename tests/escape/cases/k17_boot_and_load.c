// K17 /proc: how the host was booted, what its processors and disks do, who locks what.
// layers: masks
// process: landlock
// control: run
// needs: /proc/cmdline
#include "hostile.h"

int main(void) {
  static const char* const kNames[] = {"cmdline", "interrupts", "softirqs", "schedstat", "locks", "diskstats", "partitions", "swaps", "modules",
                                       "config.gz", "buddyinfo", "zoneinfo", "iomem"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%s", kNames[i]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd == -1) continue;
    if (read(fd, &byte, 1) == 1) escaped("%s is readable", path);
    close(fd);
  }
  stopped("open");
}
