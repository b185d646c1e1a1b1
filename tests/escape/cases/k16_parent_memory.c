// K16 /proc/PARENT/{mem,maps,environ,auxv}: reads the launcher's memory.
// layers: undumpable
// process: landlock caps
// process(user): landlock
// control: observe
#include "hostile.h"

int main(void) {
  static const char* const kFiles[] = {"mem", "maps", "environ", "auxv"};
  for (size_t i = 0; i < sizeof kFiles / sizeof *kFiles; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", getppid(), kFiles[i]);
    if (open(path, O_RDONLY | O_CLOEXEC) >= 0) escaped("%s is open", path);
  }
  stopped("open");
}
