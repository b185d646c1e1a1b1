// K34 filter: tries a filtered call from a thread, a vfork child, a CLONE_VM child and after another exec.
// layers: seccomp
// process: seccomp
// control: run
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>

#include "hostile.h"

static int try_call(void* unused) {
  (void)unused;
  return personality(ADDR_NO_RANDOMIZE) != -1 ? kEscaped : kHeld;
}

static void* in_thread(void* unused) { return try_call(unused) == kEscaped ? "escaped" : NULL; }

static int ending_of(pid_t child) {
  int status = 0;
  if (child == -1 || waitpid(child, &status, __WALL) == -1) return kHeld;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kHeld;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "inner") == 0) return try_call(NULL);

  pthread_t thread;
  void* result = NULL;
  if (pthread_create(&thread, NULL, in_thread, NULL) == 0) pthread_join(thread, &result);
  if (result) escaped("a thread has no filter");

  pid_t child = vfork();
  if (child == 0) _exit(try_call(NULL));
  if (ending_of(child) == kEscaped) escaped("a vfork child has no filter");

  static char stack[64 * 1024] __attribute__((aligned(16)));
  child = clone(try_call, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
  if (ending_of(child) == kEscaped) escaped("a CLONE_VM child has no filter");

  child = fork();
  if (child == 0) {
    execl("/proc/self/exe", argv[0], "inner", NULL);
    _exit(kHeld);
  }
  if (ending_of(child) == kEscaped) escaped("the filter was lost at exec");
  held("every child inherits the filter");
}
