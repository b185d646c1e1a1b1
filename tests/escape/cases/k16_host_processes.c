// K16 process list: reads the command line of a host process.
// layers: pid_ns
// process: landlock
// control: run
// args: {pid}
#include "hostile.h"

int main(int argc, char** argv) {
  char path[64], line[64] = "";
  snprintf(path, sizeof path, "/proc/%s/cmdline", argument(argc, argv, 1));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped(path);
  if (read(fd, line, sizeof line - 1) <= 0) stopped("read");
  escaped("%s: %s", path, line);
}
