// K24 capabilities: looks at all five of its own sets (four where an ordinary user cannot empty the bounding set).
// layers: caps
// process: caps
// control: run
// control(process user): kernel
// args(process user): CapBnd
#include "hostile.h"

int main(int argc, char** argv) {
  FILE* status = fopen("/proc/self/status", "re");
  if (!status) cannot("/proc/self/status: %s", strerror(errno));
  int seen = 0;
  for (char line[256]; fgets(line, sizeof line, status);) {
    if (strncmp(line, "Cap", 3) != 0) continue;
    ++seen;
    if (argc > 1 && strncmp(line, argv[1], strlen(argv[1])) == 0) continue;
    char* value = strchr(line, ':');
    if (value && strtoull(value + 1, NULL, 16) != 0) escaped("%s", line);
  }
  if (seen < 5) cannot("only %d capability sets are shown", seen);
  held("%d sets seen, all empty", seen);
}
