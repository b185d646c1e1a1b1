// F05 own control channel: looks for a socket of Paddock that would listen to the program.
// layers: code
// process: none
// control: none
#include "hostile.h"

int main(void) {
  FILE* list = fopen("/proc/self/net/unix", "re");
  if (!list) stopped("open /proc/self/net/unix");
  for (char line[512]; fgets(line, sizeof line, list);) {
    // Flag 0x10000 is a socket that listens.
    if (strstr(line, " 00010000 ")) escaped("something listens: %s", line);
  }
  held("nothing listens in here");
}
