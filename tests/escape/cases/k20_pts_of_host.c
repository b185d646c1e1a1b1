// K20 pseudo terminals: opens a terminal of the host by its number in /dev/pts.
// layers: dev
// process: landlock
// control: observe
// args: {pts}
#include "hostile.h"

int main(int argc, char** argv) {
  const char* path = argument(argc, argv, 1);
  if (open(path, O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0) escaped("%s is open for writing", path);
  if (open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC) >= 0) escaped("%s is open", path);
  stopped(path);
}
