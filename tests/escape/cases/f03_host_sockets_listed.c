// F03 socket lists: reads the host's UNIX sockets out of /proc/self/net/unix.
// layers: net_ns
// process: none
// control: run
// args: {abstract}
#include "hostile.h"

int main(int argc, char** argv) {
  const char* name = argument(argc, argv, 1);
  FILE* list = fopen("/proc/self/net/unix", "re");
  if (!list) stopped("open /proc/self/net/unix");
  for (char line[512]; fgets(line, sizeof line, list);) {
    if (strstr(line, name)) escaped("the host's sockets are listed");
  }
  held("no socket of the host in the list");
}
