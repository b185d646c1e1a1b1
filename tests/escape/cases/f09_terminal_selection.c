// F09 TIOCLINUX: pastes into the host's console, by command 3, which ends early on anything but a console.
// layers: seccomp
// process: seccomp
// control: observe
// stdin: terminal
#include <sys/ioctl.h>

#include "hostile.h"

int main(void) {
  if (!isatty(0)) held("standard input is no terminal");
  char command = 3;
  if (ioctl(0, TIOCLINUX, &command) == 0) escaped("TIOCLINUX works");
  if (errno == ENOTTY || errno == EINVAL) escaped("TIOCLINUX reached the terminal's driver: %s", strerror(errno));
  stopped("TIOCLINUX");
}
