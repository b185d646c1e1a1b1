// K08 release_agent through new namespaces: user + cgroup + mount namespaces, then a cgroup v1 mount (CVE-2022-0492).
// layers: seccomp landlock
// process: seccomp landlock
// control: run
#include <sched.h>
#include <sys/mount.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP) == -1) stopped("unshare");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1) stopped("mount private");
  if (mount("cgroup", "/proc", "cgroup", 0, "pids") == 0) escaped("a cgroup v1 hierarchy is mounted");
  if (mount("cgroup2", "/proc", "cgroup2", 0, NULL) == 0) escaped("the cgroup v2 tree is mounted");
  stopped("mount cgroup");
}
