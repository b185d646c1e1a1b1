// K27 first process: tries to stop and to kill it, which would end or freeze its own supervision.
// layers: pid_ns
// process: none
// control: kernel
#include <signal.h>

#include "hostile.h"

static char state_of_init(void) {
  char line[256] = "";
  int fd = open("/proc/1/stat", O_RDONLY | O_CLOEXEC);
  if (fd == -1 || read(fd, line, sizeof line - 1) <= 0) return '?';
  char* end = strrchr(line, ')');
  return end ? end[2] : '?';
}

int main(void) {
  if (getpid() > 8) cannot("not in a pid namespace: the first process would be the host's");
  static const int kSignals[] = {SIGSTOP, SIGTSTP, SIGTERM, SIGHUP, SIGUSR1, SIGSEGV, SIGKILL};
  for (size_t i = 0; i < sizeof kSignals / sizeof *kSignals; ++i) kill(1, kSignals[i]);
  usleep(50 * 1000);
  if (state_of_init() == 'T') escaped("the first process is stopped");
  held("the first process is in state %c", state_of_init());
}
