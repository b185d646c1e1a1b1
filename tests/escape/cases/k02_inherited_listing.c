// K02 leaked directory: lists a host directory through a descriptor that the caller left open.
// layers: code
// process: code
// control: none
// leak: directory
// args: {fd}
#include <dirent.h>

#include "hostile.h"

int main(int argc, char** argv) {
  DIR* directory = fdopendir(atoi(argument(argc, argv, 1)));
  if (!directory) stopped("fdopendir of the leaked descriptor");
  rewinddir(directory);  // the position is shared with everyone who ever held it
  for (struct dirent* entry; (entry = readdir(directory));) {
    if (strcmp(entry->d_name, "secret") == 0) escaped("the host's directory is listed");
  }
  held("the descriptor is another directory");
}
