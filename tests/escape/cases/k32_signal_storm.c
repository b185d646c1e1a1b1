// K32 signal storm: a fast timer without SA_RESTART, while closing, forking and piping; no call is supervised, so none may
// come back with EINTR that would not do so outside.
// layers: code
// process: code
// control: none
#include <signal.h>
#include <sys/time.h>

#include "hostile.h"

static void ignore(int signal) { (void)signal; }

int main(void) {
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_REAL, &often, NULL);
  for (int i = 0; i < 300; ++i) {
    int ends[2];
    if (pipe(ends) == -1) escaped("pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == -1 && errno == EINTR) escaped("fork was interrupted");
    if (child == 0) _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    if (close(ends[1]) == -1) escaped("close: %s", strerror(errno));
    char byte;
    while (read(ends[0], &byte, 1) == -1 && errno == EINTR) continue;
    if (close(ends[0]) == -1) escaped("close: %s", strerror(errno));
    while (waitpid(child, NULL, 0) == -1 && errno == EINTR) continue;
  }
  held("300 pipelines, none hung, no EINTR from close or fork");
}
