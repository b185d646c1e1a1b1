// K16 /proc/PARENT/{root,cwd,exe,ns}: reads where the launcher stands.
// layers: undumpable
// process: landlock caps
// process(user): landlock
// control: run
#include "hostile.h"

int main(void) {
  static const char* const kLinks[] = {"root", "cwd", "exe", "ns/mnt", "ns/user"};
  for (size_t i = 0; i < sizeof kLinks / sizeof *kLinks; ++i) {
    char path[64], target[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/%s", getppid(), kLinks[i]);
    if (readlink(path, target, sizeof target - 1) >= 0) escaped("%s is %s", path, target);
  }
  stopped("readlink");
}
