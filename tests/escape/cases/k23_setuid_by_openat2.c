// K23 leaves a setuid file behind: the mode behind the pointer of openat2.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/openat2.h>

#include "hostile.h"

int main(void) {
  umask(0);
  enter_scratch();
  struct open_how how = {.flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, .mode = 04755};
  long result = syscall(SYS_openat2, AT_FDCWD, "file", &how, sizeof how);
  int error = errno;
  struct stat made = {0};
  int found = stat("file", &made);
  unlink("file");
  leave_scratch();
  errno = error;
  if (found == 0 && made.st_mode & (S_ISUID | S_ISGID)) escaped("a file with mode %o", made.st_mode & 07777);
  if (result == -1) stopped("openat2");
  held("the setuid bit was dropped");
}
