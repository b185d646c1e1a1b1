// K17 kallsyms: the kernel's symbol table.
// layers: masks
// process: landlock
// control: run
// needs: /proc/kallsyms
#include "hostile.h"

int main(void) {
  int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped("open /proc/kallsyms");
  char byte;
  if (read(fd, &byte, 1) != 1) held("/proc/kallsyms is empty");
  escaped("/proc/kallsyms is readable");
}
