// K15 ptrace: seizes the process that started it, which has no filter.
// layers: seccomp undumpable
// process: seccomp landlock caps
// process(user): seccomp landlock
// control: run
#include <sys/ptrace.h>

#include "hostile.h"

int main(void) {
  if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) == 0) escaped("process %d is ours", getppid());
  stopped("ptrace parent");
}
