// K10 other namespaces: unshare of each kind that needs a capability in the sandbox's own user namespace.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <sched.h>

#include "hostile.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

int main(void) {
  static const struct {
    const char* name;
    int flag;
  } kKinds[] = {{"time", CLONE_NEWTIME}, {"uts", CLONE_NEWUTS}, {"ipc", CLONE_NEWIPC},      {"net", CLONE_NEWNET},
                {"pid", CLONE_NEWPID},   {"mount", CLONE_NEWNS}, {"cgroup", CLONE_NEWCGROUP}};
  for (size_t i = 0; i < sizeof kKinds / sizeof *kKinds; ++i) {
    if (unshare(kKinds[i].flag) == 0) escaped("a new %s namespace", kKinds[i].name);
  }
  stopped("unshare");
}
