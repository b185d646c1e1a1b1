// T14 secrets in the arguments of other processes: /proc/PID/cmdline needs no permission at all.
// layers: pid_ns
// process: none
// control: run
#include <ctype.h>
#include <dirent.h>

#include "hostile.h"

int main(void) {
  DIR* list = opendir("/proc");
  if (!list) held("/proc: %s", strerror(errno));
  int seen = 0;
  struct dirent* entry;
  while ((entry = readdir(list))) {
    int process = atoi(entry->d_name);
    // The first process of the sandbox is Paddock's own: it may be seen, but must carry nothing.
    if (!isdigit((unsigned char)entry->d_name[0]) || process == getpid()) continue;
    char path[300], text[4096];
    snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    if (length <= 0) continue;
    ++seen;
    int told = 0;  // words after the first, or a path of the host as the first
    for (ssize_t i = 0; i < length; ++i) told |= text[i] == '/' || (text[i] && i > (ssize_t)strnlen(text, (size_t)length));
    text[length] = '\0';
    if (process != 1 || told) escaped("process %d shows its arguments: %s", process, text);
  }
  held("%d other processes without arguments", seen);
}
