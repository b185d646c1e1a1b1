// K17 /proc/keys: the keys of everyone that it can see.
// layers: masks
// process: landlock
// control: run
// needs: /proc/keys
#include "hostile.h"

int main(void) {
  int fd = open("/proc/keys", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/keys");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/proc/keys is empty");
  escaped("/proc/keys is readable");
}
