// K08 release_agent: mounts a cgroup v1 hierarchy, whose release_agent the host runs as root.
// layers: seccomp caps landlock
// process: seccomp caps landlock
// control: run
// control(process user): kernel
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  // In a mount namespace of our own, so that success leaves nothing behind.
  if (unshare(CLONE_NEWNS) == -1) stopped("unshare(CLONE_NEWNS)");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("cgroup", "/proc", "cgroup", 0, "pids") == 0) escaped("a cgroup v1 hierarchy is mounted");
  if (mount("cgroup2", "/proc", "cgroup2", 0, NULL) == 0) escaped("the cgroup v2 tree is mounted");
  stopped("mount cgroup");
}
