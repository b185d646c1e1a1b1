// P24 looks for other sandboxes: their change sets, scratch directories, audit logs and runtime sockets on the host.
// layers: mount_ns
// process: landlock
// control: observe
#include <dirent.h>

#include "hostile.h"

static void look(const char* directory, const char* part) {
  DIR* list = opendir(directory);
  struct dirent* entry;
  const char* own = getenv("TMPDIR");
  while (list && (entry = readdir(list))) {
    char path[700];
    snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
    if (own && strncmp(own, path, strlen(path)) == 0) continue;
    if (entry->d_name[0] != '.' && strstr(entry->d_name, part)) escaped("%s is visible", path);
  }
  if (list) closedir(list);
}

int main(void) {
  look("/var/lib", "paddock");
  look("/var/lib/paddock", "");
  look("/var/log", "paddock");
  look("/run", "paddock");
  look("/run/paddock", "");
  look("/run/user", "");
  look("/tmp", "paddock");
  look("/var/tmp", "paddock");
  look("/dev/shm", "paddock");
  look("/root/.local/state", "paddock");
  look("/sys/fs/cgroup", "paddock");
  look("/sys/fs/cgroup/memory", "paddock");
  look("/sys/fs/cgroup/pids", "paddock");
  held("%s", strerror(errno));
}
