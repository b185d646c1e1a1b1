// R19 names: hard links with long names to one file cost no inode and no block, only directory entries in kernel memory.
// layers: scratch cgroup
// process: none
// users: root
// control: run
// flags: --memory 32M --inodes 10000 --disk 8M
#include "hostile.h"

enum { kLimit = 10000, kMost = 6 * kLimit };

int main(void) {
  const char* directory = getenv("TMPDIR");
  char flood[300];
  snprintf(flood, sizeof flood, "%s/names-%d", directory ? directory : "/tmp", getpid());
  if (mkdir(flood, 0700) != 0 || chdir(flood) != 0) cannot("mkdir %s: %s", flood, strerror(errno));
  int file = open("0", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) cannot("open: %s", strerror(errno));
  char name[256];
  int made = 0, error = 0;
  for (; made < kMost; ++made) {
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(name, 12, "%011d", made);
    name[11] = 'n';
    // A file may have only so many names: begin a new one when the filesystem says so.
    if (link("0", name) == 0) continue;
    if (errno == EMLINK && rename("0", name) == 0 && open("0", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) >= 0) continue;
    error = errno;
    break;
  }
  usleep(300 * 1000);
  for (int i = 0; i < made; ++i) {
    memset(name, 'n', 255);
    snprintf(name, 12, "%011d", i);
    name[11] = 'n';
    unlink(name);
  }
  unlink("0");
  rmdir(flood);
  if (made == kMost) escaped("%d long names under a limit of %d inodes", made, kLimit);
  held("name %d: %s", made + 1, strerror(error));
}
