// K23 leaves a setuid file behind: chmod, fchmod and fchmodat of a file of its own.
// layers: seccomp
// process: seccomp
// control: run

#include "hostile.h"

int main(void) {
  umask(0);
  enter_scratch();
  int fd = open("file", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
  if (fd == -1) stopped("create");
  long result = chmod("file", 04755);
  if (result == -1) result = fchmod(fd, 04755);
  if (result == -1) result = fchmodat(AT_FDCWD, "file", 02755, 0);
  int error = errno;
  struct stat made = {0};
  int found = stat("file", &made);
  unlink("file");
  leave_scratch();
  errno = error;
  if (found == 0 && made.st_mode & (S_ISUID | S_ISGID)) escaped("a file with mode %o", made.st_mode & 07777);
  if (result == -1) stopped("chmod");
  held("the setuid bit was dropped");
}
