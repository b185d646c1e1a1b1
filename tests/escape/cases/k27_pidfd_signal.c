// K27 signals: reaches a host process by pidfd, and its whole process group by a negative pid.
// layers: pid_ns landlock uid
// layers(user): pid_ns landlock
// process: landlock uid
// process(user): landlock
// control: run
// args: {pid}
#include <signal.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  int pidfd = syscall(SYS_pidfd_open, victim, 0);
  if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0) escaped("host process %d by pidfd", victim);
  if (kill(-victim, 0) == 0) escaped("the host's process group %d", victim);
  if (syscall(SYS_tgkill, victim, victim, 0) == 0) escaped("host thread %d", victim);
  stopped("signal");
}
