// R12 refuses to go: ignores and blocks every signal it can, in the program and in a child of another session.
// layers: code
// process: code
// flags: --timeout 1s
// expect: limit=wall_time
#include <signal.h>

#include "hostile.h"

int main(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  for (int signal_number = 1; signal_number < 65; ++signal_number) signal(signal_number, SIG_IGN);
  if (fork() == 0) setsid();
  sleep(15);
  escaped("15 seconds under a limit of one");
}
