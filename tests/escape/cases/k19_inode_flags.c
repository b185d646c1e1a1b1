// K19 ioctl on inodes: sets a file's flags, for which a descriptor for reading is enough.
// layers: seccomp
// process: seccomp
// control: observe
#include <sys/ioctl.h>

#include "hostile.h"

int main(void) {
  char path[4096];
  const char* folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/flags", folder ? folder : "/tmp");
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd == -1) cannot("make %s", path);
  long flags = 0;
  if (ioctl(fd, 0x80086601 /* FS_IOC_GETFLAGS */, &flags) != 0) cannot("this filesystem has no flags");
  if (ioctl(fd, 0x40086602 /* FS_IOC_SETFLAGS */, &flags) == 0) escaped("the flags of %s can be set", path);
  if (errno != ENOTTY) escaped("reached the filesystem: %s", strerror(errno));
  stopped("ioctl");
}
