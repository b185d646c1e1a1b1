// What every hostile program shares: three ways to end, and the errno that tells "stopped" from
// "got past".
//
//   int main(void) {
//     if (personality(ADDR_NO_RANDOMIZE) != -1) escaped("address randomisation is off");
//     stopped("personality");
//   }
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kHeld = 0, kEscaped = 42, kCannot = 77 };

#define HOSTILE_END(name, word, status)                                                        \
  __attribute__((noreturn, unused, format(printf, 1, 2))) static void name(const char* format, \
                                                                           ...) {              \
    va_list arguments;                                                                         \
    va_start(arguments, format);                                                               \
    fputs(word ": ", stdout);                                                                  \
    vprintf(format, arguments);                                                                \
    va_end(arguments);                                                                         \
    putchar('\n');                                                                             \
    fflush(stdout);                                                                            \
    _exit(status);                                                                             \
  }

HOSTILE_END(escaped, "ESCAPED", kEscaped)  // the attack worked
HOSTILE_END(held, "held", kHeld)           // it was stopped
HOSTILE_END(cannot, "cannot", kCannot)     // it cannot be tried on this kernel or host
#undef HOSTILE_END

// Ends as held, with errno as the reason.
__attribute__((noreturn, unused)) static void stopped(const char* what) {
  held("%s: %s", what, strerror(errno));
}

// For calls whose arguments are wrong on purpose. A refusal by a layer reads EPERM, EACCES or
// ENOSYS; any other errno means that the kernel went on to look at the arguments.
__attribute__((noreturn, unused)) static void judge_reach(const char* what, long result) {
  if (result >= 0) escaped("%s succeeded", what);
  if (errno == EPERM || errno == EACCES) stopped(what);
  if (errno == ENOSYS) cannot("%s: not in this kernel, or hidden as such", what);
  escaped("%s reached the kernel's own code: %s", what, strerror(errno));
}

// An argument that the driver promised.
__attribute__((unused)) static const char* argument(int argc, char** argv, int index) {
  if (index >= argc) cannot("argument %d is missing: run this through escape_test.py", index);
  return argv[index];
}

// Runs `attack` in a child, so that a filter that kills is a result like any other; the child's
// ending becomes ours.
__attribute__((noreturn, unused)) static void judge_in_child(void (*attack)(void)) {
  pid_t child = fork();
  if (child == -1) cannot("fork: %s", strerror(errno));
  if (child == 0) {
    attack();
    held("nothing happened");
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) held("killed by %s", strsignal(WTERMSIG(status)));
  _exit(WEXITSTATUS(status));
}

// Makes a directory of our own where the sandbox lets us write, and changes into it.
__attribute__((unused)) static void enter_scratch(void) {
  const char* place = getenv("TMPDIR");
  static char directory[4096];
  snprintf(directory, sizeof directory, "%s/escape-XXXXXX", place ? place : "/tmp");
  if (!mkdtemp(directory) || chdir(directory) == -1)
    cannot("no place to write: %s", strerror(errno));
}

// Takes it away again; errno stays.
__attribute__((unused)) static void leave_scratch(void) {
  int error = errno;
  char directory[4096];
  if (getcwd(directory, sizeof directory)) rmdir(directory);
  errno = error;
}
