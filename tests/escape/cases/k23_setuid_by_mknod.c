// K23 leaves a setuid file behind: mknod of a regular file.
// layers: seccomp
// process: seccomp
// control: run

#include "hostile.h"

int main(void) {
  umask(0);
  enter_scratch();
  long result = mknod("file", S_IFREG | 04755, 0);
  if (result == -1) result = mknodat(AT_FDCWD, "file", 04755, 0);
  int error = errno;
  struct stat made = {0};
  int found = stat("file", &made);
  unlink("file");
  leave_scratch();
  errno = error;
  if (found == 0 && made.st_mode & (S_ISUID | S_ISGID)) escaped("a file with mode %o", made.st_mode & 07777);
  if (result == -1) stopped("mknod");
  held("the setuid bit was dropped");
}
