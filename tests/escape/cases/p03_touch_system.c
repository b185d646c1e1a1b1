// P03 changes nothing but the times and attributes of the host's files: enough to confuse builds and backups.
// layers: read_only uid
// process: uid
// users: root
// control: run
#include <sys/xattr.h>

#include "hostile.h"

int main(void) {
  const char* paths[] = {"/usr", "/usr/bin", "/usr/lib", "/usr/share/common-licenses/BSD"};
  for (unsigned i = 0; i < sizeof paths / sizeof *paths; ++i) {
    struct stat before;
    if (stat(paths[i], &before) != 0) continue;
    // The times it has already: a success changes nothing that matters.
    struct timespec same[2] = {before.st_atim, before.st_mtim};
    if (utimensat(AT_FDCWD, paths[i], same, 0) == 0) escaped("set the times of %s", paths[i]);
    if (chmod(paths[i], before.st_mode & 07777) == 0) escaped("set the mode of %s", paths[i]);
    if (setxattr(paths[i], "user.probe", "x", 1, 0) == 0) {
      removexattr(paths[i], "user.probe");
      escaped("set an attribute of %s", paths[i]);
    }
  }
  stopped("utimensat, chmod, setxattr");
}
