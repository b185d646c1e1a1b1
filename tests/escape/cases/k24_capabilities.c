// K24 capabilities: looks at all five of its own sets.
// layers: caps
// process: caps
// control: run
#include "hostile.h"

int main(void) {
  FILE* status = fopen("/proc/self/status", "re");
  if (!status) cannot("/proc/self/status: %s", strerror(errno));
  int seen = 0;
  for (char line[256]; fgets(line, sizeof line, status);) {
    if (strncmp(line, "Cap", 3) != 0) continue;
    ++seen;
    char* value = strchr(line, ':');
    if (value && strtoull(value + 1, NULL, 16) != 0) escaped("%s", line);
  }
  if (seen < 5) cannot("only %d capability sets are shown", seen);
  held("all %d sets are empty", seen);
}
