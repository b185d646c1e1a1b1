// P03 reopens for writing what it could open for reading: /proc/self/fd, /dev/fd, O_PATH, a shared mapping, the running program itself.
// layers: read_only landlock uid
// process: landlock uid
// users: root
// control: observe
#include <sys/mman.h>

#include "hostile.h"

static const char* const kFiles[] = {"/usr/bin/python3", "/bin/sh", "/usr/share/common-licenses/BSD", "/etc/ld.so.cache"};

int main(void) {
  int error = 0, opened = 0;
  for (unsigned i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
    int flags[] = {O_RDONLY | O_CLOEXEC, O_PATH | O_CLOEXEC};
    for (int f = 0; f < 2; ++f) {
      int file = open(kFiles[i], flags[f]);
      if (file < 0) continue;
      ++opened;
      char again[64];
      snprintf(again, sizeof again, f ? "/dev/fd/%d" : "/proc/self/fd/%d", file);
      if (open(again, O_WRONLY | O_APPEND | O_CLOEXEC) >= 0) escaped("%s opened for writing through %s", kFiles[i], again);
      error = errno;
      void* map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
      if (map != MAP_FAILED && mprotect(map, 4096, PROT_READ | PROT_WRITE) == 0) escaped("%s mapped writable", kFiles[i]);
      close(file);
    }
  }
  if (!opened) cannot("nothing to open");
  held("%d descriptors: %s", opened, strerror(error));
}
