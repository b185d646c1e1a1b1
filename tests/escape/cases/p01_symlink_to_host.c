// P01 symlink out of the workspace: makes links to files of the host in its own directory and reads through them.
// layers: mount_ns
// process: landlock
// control: run
#include "hostile.h"

// World-readable on every Debian, and of no business to a sandbox.
static const char* const kTargets[] = {"/var/lib/dpkg/status", "/var/lib/dpkg/arch", "/var/log/dpkg.log", "/boot"};

int main(void) {
  int error = 0;
  for (unsigned i = 0; i < sizeof kTargets / sizeof *kTargets; ++i) {
    char link_name[64], byte;
    snprintf(link_name, sizeof link_name, "link-%d-%u", getpid(), i);
    if (symlink(kTargets[i], link_name) != 0) snprintf(link_name, sizeof link_name, "/tmp/link-%d-%u", getpid(), i);
    (void)!symlink(kTargets[i], link_name);
    int file = open(link_name, O_RDONLY | O_CLOEXEC);
    if (file < 0) error = errno;
    unlink(link_name);
    if (file >= 0 && read(file, &byte, 1) == 1) escaped("read %s through a link", kTargets[i]);
    if (file >= 0) close(file);
  }
  held("%s", strerror(error));
}
