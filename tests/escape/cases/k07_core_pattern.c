// K07 core_pattern: opens /proc/sys/kernel/core_pattern for writing; a pipe there is run by the host's kernel as root.
// layers: read_only landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  if (open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC) == -1) stopped("open core_pattern for writing");
  escaped("core_pattern is open for writing");
}
