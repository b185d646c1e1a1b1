// T14 secrets in the environment of other processes: reads /proc/PID/environ and more of everything it can see.
// layers: pid_ns user_ns caps
// layers(user): landlock pid_ns user_ns
// process: landlock uid caps
// process(user): landlock
// control: run
// control(process root): none
#include <ctype.h>
#include <dirent.h>

#include "hostile.h"

int main(void) {
  DIR* list = opendir("/proc");
  if (!list) held("/proc: %s", strerror(errno));
  int seen = 0, error = 0;
  struct dirent* entry;
  while ((entry = readdir(list))) {
    // The parent is Paddock's own and has cases of its own (K16).
    int process = atoi(entry->d_name);
    if (!isdigit((unsigned char)entry->d_name[0]) || process == getpid() || process == getppid()) continue;
    const char* parts[] = {"environ", "mem", "maps", "auxv", "fd", "root", "cwd", "exe"};
    ++seen;
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; ++i) {
      char path[300], byte;
      snprintf(path, sizeof path, "/proc/%s/%s", entry->d_name, parts[i]);
      if (i >= 4) {
        if (readlink(path, &byte, 1) == 1) escaped("%s can be followed", path);
        continue;
      }
      int file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) error = errno;
      if (file >= 0 && (i == 1 || read(file, &byte, 1) == 1)) escaped("%s can be read", path);
      if (file >= 0) close(file);
    }
  }
  held("%d other processes: %s", seen, strerror(error));
}
