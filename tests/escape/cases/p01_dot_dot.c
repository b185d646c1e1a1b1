// P01 climbs out: `..` from every place, through /proc/self/cwd and /proc/self/root, and with an absolute path in every spelling.
// layers: mount_ns
// process: landlock
// control: run
#include "hostile.h"

static const char* const kTargets[] = {"var/lib/dpkg/status", "var/log/dpkg.log", "var/lib/dpkg/arch"};
static const char* const kStarts[] = {
    "../../../../../../../../", "/workspace/../../../../", "/workspace/./.././../", "/tmp/../../", "/proc/self/cwd/../../../../../",
    "/proc/self/root/", "/proc/self/root/../../", "/proc/thread-self/root/", "/proc/1/root/", "//", "/./", "/usr/../", "/usr/lib/../../../",
    "/dev/shm/../../", "/dev/fd/../../../", "/proc/self/fd/../../../", "/proc/self/task/../../../"};

int main(void) {
  int tried = 0;
  for (unsigned s = 0; s < sizeof kStarts / sizeof *kStarts; ++s) {
    for (unsigned t = 0; t < sizeof kTargets / sizeof *kTargets; ++t, ++tried) {
      char path[256], byte;
      snprintf(path, sizeof path, "%s%s", kStarts[s], kTargets[t]);
      int file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      if (read(file, &byte, 1) == 1) escaped("read %s", path);
      close(file);
    }
  }
  held("%d paths: %s", tried, strerror(errno));
}
