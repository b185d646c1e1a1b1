// K17 kcore: the memory of the whole host as a file.
// layers: masks uid
// process: landlock uid
// control: run
// control(user): kernel
// needs: /proc/kcore
#include "hostile.h"

int main(void) {
  int fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/kcore");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/proc/kcore is empty");
  escaped("/proc/kcore is readable");
}
