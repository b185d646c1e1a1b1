// P08 a denied file by other names: hard link, symlink, /proc/self/root and cwd, O_PATH reopened, rename of it or of what stands above.
// layers: masks
// process: none
// control: run
// flags: --deny /usr/share/common-licenses/GPL-3
#include "hostile.h"

#define DIRECTORY "/usr/share/common-licenses"
#define SECRET DIRECTORY "/GPL-3"

static void try_read(const char* path) {
  char bytes[64];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, bytes, sizeof bytes);
  if (file >= 0) close(file);
  if (got > 0) escaped("read the denied file as %s", path);
}

static void try_descriptor(int file, const char* how) {
  if (file < 0) return;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  try_read(path);
  struct stat now;
  if (fstat(file, &now) == 0 && S_ISREG(now.st_mode) && now.st_size > 0) escaped("%s shows %ld bytes", how, (long)now.st_size);
  close(file);
}

int main(void) {
  char name[300];
  try_read(SECRET);
  try_read("/usr/share/../share/common-licenses/./GPL-3");
  try_read("/proc/self/root" SECRET);
  try_read("/proc/thread-self/root" SECRET);
  if (chdir(DIRECTORY) == 0) {
    try_read("GPL-3");
    try_read("/proc/self/cwd/GPL-3");
  }
  int directory = open(DIRECTORY, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) try_descriptor(openat(directory, "GPL-3", O_PATH | O_CLOEXEC), "O_PATH");
  try_descriptor(open("/usr/share/common-licenses/GPL", O_RDONLY | O_CLOEXEC), "a symlink beside it");  // GPL -> GPL-3
  snprintf(name, sizeof name, "/tmp/name-%d", getpid());
  if (symlink(SECRET, name) == 0) try_read(name);
  unlink(name);
  if (linkat(AT_FDCWD, SECRET, AT_FDCWD, name, 0) == 0) try_read(name);
  if (rename(SECRET, name) == 0 || rename(DIRECTORY, name) == 0) escaped("renamed what was denied");
  if (renameat2(AT_FDCWD, SECRET, AT_FDCWD, DIRECTORY "/BSD", RENAME_EXCHANGE) == 0) escaped("exchanged what was denied");
  if (unlink(SECRET) == 0) escaped("deleted what was denied");
  held("%s", strerror(errno));
}
