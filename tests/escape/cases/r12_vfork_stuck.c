// R12 parent stuck in vfork: sleeps uninterruptibly in the kernel until a child in another session ends, and that child is stopped.
// layers: code
// process: code
// flags: --timeout 1s
// expect: limit=wall_time
#include <sched.h>
#include <signal.h>

#include "hostile.h"

static char stack[65536];

static int stop(void* unused) {
  (void)unused;
  setsid();
  raise(SIGSTOP);
  _exit(0);
}

int main(void) {
  clone(stop, stack + sizeof stack, CLONE_VFORK | CLONE_VM | SIGCHLD, NULL);
  escaped("the stopped child was continued");
}
