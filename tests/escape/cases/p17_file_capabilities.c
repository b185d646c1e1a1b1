// P17 leaves a program with file capabilities, or with an ACL that opens it for others.
// layers: caps
// process: caps
// users: root
// control: observe
#include <linux/capability.h>
#include <sys/xattr.h>

#include "hostile.h"

int main(void) {
  const char* tmp = getenv("TMPDIR");
  char path[300];
  snprintf(path, sizeof path, "%s/caps-%d", tmp ? tmp : "/tmp", getpid());
  int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0700);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
  unsigned all = ~0U;
  struct vfs_cap_data old = {VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, {{all, 0}, {all, 0}}};
  struct vfs_ns_cap_data rooted = {VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE, {{all, 0}, {all, 0}}, 0};
  int given = fsetxattr(file, "security.capability", &old, sizeof old, 0) == 0;
  given |= setxattr(path, "security.capability", &rooted, sizeof rooted, 0) == 0;
  given |= setxattr(path, "trusted.overlay.opaque", "y", 1, 0) == 0;
  given |= setxattr(path, "security.ima", "\x04", 1, 0) == 0;
  int error = errno;
  unlink(path);
  if (given) escaped("a privileged attribute was stored");
  held("%s", strerror(error));
}
