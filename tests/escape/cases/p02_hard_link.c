// P02 hard link to a file it may not change: in its own directory it could then wait for the host to trust the new name.
// layers: mount_ns landlock
// process: landlock
// control: kernel
#include "hostile.h"

int main(void) {
  const char* targets[] = {"/usr/bin/su", "/usr/bin/passwd", "/etc/passwd", "/usr/bin/python3", "/bin/sh"};
  const char* places[] = {".", "/tmp", "/dev/shm", "/workspace"};
  int error = 0;
  for (unsigned t = 0; t < sizeof targets / sizeof *targets; ++t) {
    for (unsigned p = 0; p < sizeof places / sizeof *places; ++p) {
      char name[300], through_fd[64];
      snprintf(name, sizeof name, "%s/name-%d", places[p], getpid());
      int linked = linkat(AT_FDCWD, targets[t], AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
      int file = open(targets[t], O_PATH | O_CLOEXEC);
      snprintf(through_fd, sizeof through_fd, "/proc/self/fd/%d", file);
      linked |= file >= 0 && linkat(AT_FDCWD, through_fd, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
      linked |= file >= 0 && linkat(file, "", AT_FDCWD, name, AT_EMPTY_PATH) == 0;
      error = errno;
      if (file >= 0) close(file);
      unlink(name);
      if (linked) escaped("%s is now also %s", targets[t], name);
    }
  }
  held("%s", strerror(error));
}
