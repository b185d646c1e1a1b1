// F09 TIOCSTI: types into the terminal that the caller will read again.
// layers: seccomp
// process: seccomp
// control: run
// stdin: terminal
#include <sys/ioctl.h>
#include <termios.h>

#include "hostile.h"

static void attack(void) {
  if (!isatty(0)) held("standard input is no terminal");
  if (ioctl(0, TIOCSTI, "x") == 0) escaped("a key was pressed for the caller");
  setsid();  // and once more as the leader of a session with this terminal
  ioctl(0, TIOCSCTTY, 0);
  if (ioctl(0, TIOCSTI, "x") == 0) escaped("a key was pressed for the caller");
  stopped("TIOCSTI");
}

int main(void) { judge_in_child(attack); }
