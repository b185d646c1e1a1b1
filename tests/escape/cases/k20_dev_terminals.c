// K20 terminals: opens the host's console and virtual terminals.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kPaths[] = {"/dev/console", "/dev/tty0", "/dev/tty1", "/dev/ttyS0", "/dev/vcs", "/dev/vcsa"};
  int last = ENOENT;
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    if (open(kPaths[i], O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) >= 0) escaped("%s is open", kPaths[i]);
    if (errno != ENOENT) last = errno;
  }
  held("%s", strerror(last));
}
