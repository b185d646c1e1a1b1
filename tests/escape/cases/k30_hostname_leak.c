// K30 names: reads the host's name.
// layers: uts_ns
// process: none
// control: run
// args: {hostname}
#include "hostile.h"

int main(int argc, char** argv) {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) == -1) stopped("gethostname");
  if (strcmp(name, argument(argc, argv, 1)) == 0) escaped("we are on %s", name);
  held("the name inside is %s", name);
}
