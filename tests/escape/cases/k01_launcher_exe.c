// K01 launcher's executable: opens /proc/PARENT/exe, the first step to overwriting the launcher (CVE-2019-5736).
// layers: undumpable landlock
// process: landlock caps
// process(user): landlock
// control: observe
#include "hostile.h"

int main(void) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/exe", getppid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd == -1) stopped(path);
  char name[4096] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (readlink(path, name, sizeof name - 1) == -1) name[0] = '\0';
  escaped("the launcher's file is in our hands: %s", name);
}
