// K21 open_tree: clones the root as a detached tree, to look beneath what is mounted over it.
// layers: seccomp caps
// process: seccomp caps
// control: run
// control(process user): kernel
#include <linux/mount.h>

#include "hostile.h"

int main(void) {
  if (syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) >= 0) escaped("a detached clone of the root");
  stopped("open_tree");
}
