// K22 file times: sets the times (to what they are) of a file that is granted for reading only, through a read-only descriptor.
// layers: read_only
// process: seccomp
// users: user
// control: run
// flags: --read {owned}
// args: {owned}/file
#include "hostile.h"

int main(int argc, char** argv) {
  int fd = open(argument(argc, argv, 1), O_RDONLY | O_CLOEXEC);
  struct stat found;
  if (fd == -1 || fstat(fd, &found) == -1) cannot("the granted file: %s", strerror(errno));
  struct timespec times[2] = {found.st_atim, found.st_mtim};
  if (futimens(fd, times) == 0) escaped("the file's times are ours to set");
  stopped("futimens");
}
