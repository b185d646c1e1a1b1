// K23 leaves a setuid file behind: the mode argument of open and creat.
// layers: seccomp
// process: seccomp
// control: run

#include "hostile.h"

int main(void) {
  umask(0);
  enter_scratch();
  int fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 04755);
  if (fd == -1) fd = creat("file", 04755);
  if (fd == -1) fd = openat(AT_FDCWD, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 04755);
  long result = fd;
  int error = errno;
  struct stat made = {0};
  int found = stat("file", &made);
  unlink("file");
  leave_scratch();
  errno = error;
  if (found == 0 && made.st_mode & (S_ISUID | S_ISGID)) escaped("a file with mode %o", made.st_mode & 07777);
  if (result == -1) stopped("open");
  held("the setuid bit was dropped");
}
