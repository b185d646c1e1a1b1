// K16 /proc/PID/{root,cwd}: looks for a host file through the root and cwd of every process it can see.
// layers: mount_ns
// process: landlock
// control: run
// args: {secret}
#include <dirent.h>

#include "hostile.h"

int main(int argc, char** argv) {
  const char* secret = argument(argc, argv, 1);
  DIR* processes = opendir("/proc");
  if (!processes) stopped("opendir /proc");
  static const char* const kLinks[] = {"root", "cwd/../../../../../.."};
  char path[4096];
  for (struct dirent* entry; (entry = readdir(processes));) {
    if ((entry->d_name[0] < '0' || entry->d_name[0] > '9') && strcmp(entry->d_name, "self") != 0) continue;
    for (size_t i = 0; i < sizeof kLinks / sizeof *kLinks; ++i) {
      snprintf(path, sizeof path, "/proc/%s/%s%s", entry->d_name, kLinks[i], secret);
      if (open(path, O_RDONLY | O_CLOEXEC) >= 0) escaped("%s is open", path);
    }
  }
  stopped("last tried");
}
