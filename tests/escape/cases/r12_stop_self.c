// R12 stops itself, and its children, so that a polite signal stays pending for ever.
// layers: code
// process: code
// flags: --timeout 1s
// expect: limit=wall_time
#include <signal.h>

#include "hostile.h"

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    raise(SIGSTOP);
    _exit(0);
  }
  raise(SIGSTOP);
  escaped("it was continued");
}
