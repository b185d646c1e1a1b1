// K01 own executable, a file of the host: keeps it as O_PATH, goes on as a copy in memory, and reopens it for writing once it no
// longer runs (CVE-2019-5736).
// layers: read_only landlock
// process: landlock
// control: observe
// flags: --read {shared}
// exec: {shared}
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "hostile.h"

int main(int argc, char** argv) {
  char path[64];
  if (argc == 3) {  // the copy
    snprintf(path, sizeof path, "/proc/self/fd/%s", argv[2]);
    if (open(path, O_WRONLY | O_CLOEXEC) >= 0) escaped("the host's executable is open for writing");
    stopped("reopen the executable for writing");
  }
  int self = open("/proc/self/exe", O_PATH);
  int source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  int copy = memfd_create("copy", MFD_CLOEXEC);
  if (self == -1 || source == -1 || copy == -1) cannot("copy itself: %s", strerror(errno));
  while (sendfile(copy, source, NULL, 1 << 20) > 0) continue;
  snprintf(path, sizeof path, "%d", self);
  char* arguments[] = {"copy", "inner", path, NULL};
  char* environment[] = {NULL};
  fexecve(copy, arguments, environment);
  stopped("run the copy");
}
