// K34 ptrace: lets a child make a harmless call and rewrites its number after the filter has seen it.
// layers: seccomp
// process: seccomp
// control: run
#include <signal.h>
#include <stddef.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "hostile.h"

int main(void) {
  pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) == -1) _exit(kHeld);
    raise(SIGSTOP);
    // Becomes personality(ADDR_NO_RANDOMIZE) on the way in.
    _exit(syscall(SYS_getpgid, ADDR_NO_RANDOMIZE) >= 0 ? kEscaped : kHeld);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) held("ptrace of an own child is refused");
  while (WIFSTOPPED(status)) {
    struct user_regs_struct registers;
    ptrace(PTRACE_GETREGS, child, 0, &registers);
    if (registers.orig_rax == SYS_getpgid) {
      ptrace(PTRACE_POKEUSER, child, offsetof(struct user_regs_struct, orig_rax), SYS_personality);
    }
    if (ptrace(PTRACE_SYSCALL, child, 0, 0) == -1 || waitpid(child, &status, 0) == -1) break;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kEscaped) escaped("the call was rewritten behind the filter");
  held("the rewritten call was filtered");
}
