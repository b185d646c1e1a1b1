// P21 writes that land nowhere: outside the private places nothing may be created, not even in a layer that vanishes afterwards.
// layers: read_only landlock
// process: landlock
// control: observe
#include <dirent.h>

#include "hostile.h"

static int tried;

static int is_private(const char* path) {
  const char* tmp = getenv("TMPDIR");
  const char* home = getenv("HOME");
  const char* places[] = {"/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/home/agent", "/workspace", tmp ? tmp : "/tmp", home ? home : "/tmp"};
  for (unsigned i = 0; i < sizeof places / sizeof *places; ++i) {
    size_t length = strlen(places[i]);
    if (strncmp(path, places[i], length) == 0 && (path[length] == '/' || path[length] == '\0')) return 1;
  }
  return 0;
}

static void try_directory(const char* path, int depth) {
  if (is_private(path)) return;
  char name[600];
  snprintf(name, sizeof name, "%s/probe-%d", strcmp(path, "/") ? path : "", getpid());
  ++tried;
  int file = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file >= 0) {
    unlink(name);
    escaped("created %s", name);
  }
  if (depth == 0) return;
  DIR* list = opendir(path);
  struct dirent* entry;
  while (list && (entry = readdir(list))) {
    if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)) continue;
    if (depth == 2 && (!strcmp(entry->d_name, "proc") || !strcmp(entry->d_name, "sys"))) continue;
    snprintf(name, sizeof name, "%s/%.200s", strcmp(path, "/") ? path : "", entry->d_name);
    try_directory(name, depth - 1);
  }
  if (list) closedir(list);
}

int main(void) {
  try_directory("/", 2);
  const char* more[] = {"/var",  "/var/log", "/run",        "/run/lock", "/root", "/home", "/srv",     "/mnt",        "/media",         "/opt",
                        "/boot", "/etc",     "/etc/cron.d", "/proc",     "/sys",  "/dev",  "/dev/pts", "/dev/mqueue", "/usr/local/lib", "/sys/fs/cgroup"};
  for (unsigned i = 0; i < sizeof more / sizeof *more; ++i) try_directory(more[i], 0);
  held("%d directories: %s", tried, strerror(errno));
}
