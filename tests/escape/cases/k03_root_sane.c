// K03 own root: looks whether /dev/null, /dev/zero, /proc and /tmp are what they say, and not something that was put in their place.
// layers: code
// process: none
// control: none
#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "hostile.h"

static void must_be_device(const char* path, unsigned minor_number) {
  struct stat found;
  if (lstat(path, &found) == -1) escaped("%s: %s", path, strerror(errno));
  if (!S_ISCHR(found.st_mode) || found.st_rdev != makedev(1, minor_number)) escaped("%s is another file", path);
}

int main(void) {
  must_be_device("/dev/null", 3);
  must_be_device("/dev/zero", 5);
  must_be_device("/dev/urandom", 9);
  struct statfs where;
  if (statfs("/proc/self/status", &where) == -1 || where.f_type != PROC_SUPER_MAGIC) escaped("/proc is not a procfs");
  if (statfs("/dev/pts", &where) == -1 || where.f_type != DEVPTS_SUPER_MAGIC) escaped("/dev/pts is not a devpts");
  struct stat found;
  if (lstat("/tmp", &found) == -1 || !S_ISDIR(found.st_mode)) escaped("/tmp is no directory");
  if (open("/tmp/written-inside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) == -1) held("/tmp: %s", strerror(errno));
  held("the root is as it should be");
}
