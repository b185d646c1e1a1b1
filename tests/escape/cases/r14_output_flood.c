// R14 output flood: writes to both streams as fast as it can, from several processes.
// layers: code
// process: code
// flags: --output-limit 64K
// expect: limit=output
#include <signal.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  static char block[4096];
  memset(block, 'y', sizeof block);
  pid_t parent = fork();
  if (parent == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  long written = 0;
  while (written < 64L << 20) {
    ssize_t put = write(parent ? 1 : 2, block, sizeof block);
    if (put < 0) held("write after %ld KiB: %s", written >> 10, strerror(errno));
    written += put;
  }
  escaped("%ld MiB of output under a limit of 64 KiB", written >> 20);
}
