// F01 inherited descriptors: looks for any that the caller left open.
// layers: fds
// process: fds
// control: run
// leak: directory
#include "hostile.h"

int main(void) {
  for (int fd = 3; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) == -1) continue;
    char path[64], target[4096] = "?";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length > 0) target[length] = '\0';
    escaped("descriptor %d is %s", fd, target);
  }
  held("no descriptor beyond 2");
}
