// K22 inode flags: changes a file that is granted for reading only, by an ioctl that needs no writable descriptor (chattr).
// layers: read_only seccomp
// process: seccomp
// users: user
// control: run
// flags: --read {owned}
// args: {owned}/file
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "hostile.h"

int main(int argc, char** argv) {
  int fd = open(argument(argc, argv, 1), O_RDONLY | O_CLOEXEC);
  if (fd == -1) cannot("the granted file: %s", strerror(errno));
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == -1) cannot("this file system has no inode flags");
  flags ^= FS_NODUMP_FL;
  if (ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0) escaped("the file's inode flags changed");
  stopped("FS_IOC_SETFLAGS");
}
