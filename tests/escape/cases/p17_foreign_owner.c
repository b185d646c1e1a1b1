// P17 gives files away: a file owned by root, by another user or by another group, waiting for the host.
// layers: caps user_ns
// process: caps
// users: root
// control: observe
#include "hostile.h"

int main(void) {
  const char* tmp = getenv("TMPDIR");
  char path[300];
  snprintf(path, sizeof path, "%s/owner-%d", tmp ? tmp : "/tmp", getpid());
  int file = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) cannot("open %s: %s", path, strerror(errno));
  uid_t ids[] = {0, 1, 33, 1000, 65534, 100000, getuid() + 1};
  int error = 0;
  for (unsigned i = 0; i < sizeof ids / sizeof *ids; ++i) {
    if (ids[i] == getuid() || ids[i] == getgid()) continue;
    int given = fchown(file, ids[i], -1) == 0;
    given |= fchown(file, -1, ids[i]) == 0;
    given |= lchown(path, ids[i], ids[i]) == 0;
    given |= fchownat(AT_FDCWD, path, ids[i], ids[i], 0) == 0;
    error = errno;
    if (!given) continue;
    unlink(path);
    escaped("the file now belongs to %u", (unsigned)ids[i]);
  }
  unlink(path);
  held("%s", strerror(error));
}
