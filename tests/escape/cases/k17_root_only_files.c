// K17 files of /proc that only the host's root may read: page flags, slabs, kernel allocations.
// layers: uid
// process: landlock uid
// control: run
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kPaths[] = {"/proc/kpageflags", "/proc/kpagecount", "/proc/vmallocinfo", "/proc/slabinfo"};
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    int fd = open(kPaths[i], O_RDONLY | O_CLOEXEC);
    char word[8];
    if (fd >= 0 && read(fd, word, sizeof word) > 0) escaped("%s is readable", kPaths[i]);
  }
  stopped("open");
}
