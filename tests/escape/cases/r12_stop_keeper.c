// R12 stops its keeper: SIGSTOP and SIGKILL for its parent, its parent's group and the first process, so that nobody ends the run.
// layers: pid_ns landlock
// process: landlock uid
// process(user): landlock
// control: vm
// flags: --timeout 1s
// expect: limit=wall_time
#include <signal.h>

#include "hostile.h"

// The parent's parent, where /proc shows it.
static pid_t parent_of(pid_t process) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  char* after_name = length > 0 ? strrchr(text, ')') : NULL;
  int parent = 0;
  return after_name && sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

int main(void) {
  pid_t above = getppid();
  for (int level = 0; level < 2 && above > 0; ++level, above = parent_of(above)) {
    // Only what Paddock started; never the shell or the test above it.
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", above);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) (void)!read(file, name, sizeof name - 1);
    if (file >= 0) close(file);
    if (above != 1 && !strstr(name, "paddock")) continue;
    kill(above, SIGSTOP);
    kill(above, SIGTSTP);
    kill(above, SIGKILL);
  }
  kill(1, SIGSTOP);
  sleep(15);
  escaped("15 seconds under a limit of one");
}
