// R12 a traced child in ptrace-stop, its tracer stopped too: neither answers anything but SIGKILL.
// layers: code
// process: code
// flags: --timeout 1s
// expect: limit=wall_time
#include <signal.h>
#include <sys/ptrace.h>

#include "hostile.h"

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    _exit(0);
  }
  if (waitpid(child, NULL, WUNTRACED) == child) ptrace(PTRACE_SETOPTIONS, child, NULL, (void*)PTRACE_O_TRACEEXIT);
  raise(SIGSTOP);
  escaped("it was continued: %s", strerror(errno));
}
