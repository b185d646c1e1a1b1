// K01 own executable: reopens /proc/self/exe, a file of the host, for writing.
// layers: read_only landlock
// process: landlock
// control: observe
// flags: --read {shared}
// exec: {shared}
#include "hostile.h"

int main(void) {
  // A running file answers ETXTBSY, but only to those who may write it once it no longer runs.
  int fd = open("/proc/self/exe", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) escaped("own executable is open for writing");
  if (errno == ETXTBSY) escaped("own executable is writable as soon as it has ended");
  stopped("open /proc/self/exe for writing");
}
