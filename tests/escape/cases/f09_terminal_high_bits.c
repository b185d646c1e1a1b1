// F09 TIOCSTI with a high bit in the command, which the kernel cuts off (CVE-2019-7303).
// layers: seccomp
// process: seccomp
// control: run
// stdin: terminal
#include <sys/ioctl.h>
#include <termios.h>

#include "hostile.h"

static void attack(void) {
  if (!isatty(0)) held("standard input is no terminal");
  if (syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 32, "x") == 0) escaped("a key was pressed for the caller");
  setsid();  // and once more as the leader of a session with this terminal
  ioctl(0, TIOCSCTTY, 0);
  if (syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 32, "x") == 0) escaped("a key was pressed for the caller");
  stopped("TIOCSTI");
}

int main(void) { judge_in_child(attack); }
