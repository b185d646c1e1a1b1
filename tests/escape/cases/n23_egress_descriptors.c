// N23 sockets of the network: looks for the ones that egress got, in this process, in its parents, and by what listens.
// layers: code
// process: none
// control: none
// flags: --allow-net localhost:{port}
// args: {port}
#include <dirent.h>

#include "network.h"

static void look_into(const char* process) {
  char path[300], link[512];
  snprintf(path, sizeof path, "/proc/%s/fd", process);
  DIR* folder = opendir(path);
  if (!folder) return;
  for (struct dirent* entry; (entry = readdir(folder));) {
    snprintf(path, sizeof path, "/proc/%s/fd/%s", process, entry->d_name);
    ssize_t size = readlink(path, link, sizeof link - 1);
    if (size <= 0) continue;
    link[size] = '\0';
    if (strncmp(link, "socket:", 7) == 0) escaped("%s is %s", path, link);
  }
  closedir(folder);
}

int main(int argc, char** argv) {
  check_network(port_argument(argc, argv, 1));
  DIR* processes = opendir("/proc");
  if (!processes) cannot("/proc: %s", strerror(errno));
  for (struct dirent* entry; (entry = readdir(processes));)
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') look_into(entry->d_name);
  held("no socket is within reach");
}
