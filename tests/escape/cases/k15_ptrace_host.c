// K15 ptrace: seizes a process of the host with the same uid.
// layers: seccomp pid_ns landlock user_ns uid
// process: seccomp landlock uid
// process(user): seccomp landlock
// control: run
// args: {pid}
#include <sys/ptrace.h>

#include "hostile.h"

int main(int argc, char** argv) {
  pid_t victim = atoi(argument(argc, argv, 1));
  if (ptrace(PTRACE_SEIZE, victim, 0, 0) == 0) escaped("host process %d is ours", victim);
  stopped("ptrace host process");
}
