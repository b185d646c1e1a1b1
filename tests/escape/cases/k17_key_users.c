// K17 /proc/key-users: who on the host has keys.
// layers: masks
// process: landlock
// control: run
// needs: /proc/key-users
#include "hostile.h"

int main(void) {
  int fd = open("/proc/key-users", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/key-users");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/proc/key-users is empty");
  escaped("/proc/key-users is readable");
}
