// F09 TIOCSETD: sets a line discipline, by which kernel code of rare drivers is loaded (CVE-2017-2636 and kin).
// layers: seccomp
// process: seccomp
// control: run
// stdin: terminal
#include <sys/ioctl.h>

#include "hostile.h"

int main(void) {
  if (!isatty(0)) held("standard input is no terminal");
  int discipline = 0;  // what a terminal has anyway
  if (ioctl(0, TIOCSETD, &discipline) == 0) escaped("line disciplines are ours to choose");
  stopped("TIOCSETD");
}
