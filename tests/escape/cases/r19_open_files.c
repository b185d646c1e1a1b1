// R19 descriptors: opens more than it may, and asks for a higher limit when it is stopped.
// layers: rlimits
// process: rlimits
// control: run
// flags: --open-files 64
#include <sys/resource.h>

#include "hostile.h"

enum { kLimit = 64, kMost = kLimit + 50 };

int main(void) {
  int highest = 0, error = 0;
  for (int i = 0; i < kMost; ++i) {
    int fd = dup(0);
    if (fd < 0 && errno == EMFILE) {
      struct rlimit more = {kMost * 2, kMost * 2};
      setrlimit(RLIMIT_NOFILE, &more);
      fd = fcntl(0, F_DUPFD_CLOEXEC, kLimit);
    }
    if (fd < 0) {
      error = errno;
      break;
    }
    highest = fd;
  }
  if (highest >= kLimit) escaped("descriptor %d under a limit of %d", highest, kLimit);
  held("after descriptor %d: %s", highest, strerror(error));
}
