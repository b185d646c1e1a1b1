// K19 kernel modules: init_module, finit_module and delete_module with nothing to load.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  if (syscall(SYS_finit_module, -1, "", 0) == -1 && errno == EBADF) escaped("finit_module reached the kernel");
  if (syscall(SYS_delete_module, "no_such_module_here", O_NONBLOCK) == -1 && errno == ENOENT) {
    escaped("delete_module reached the kernel");
  }
  judge_reach("init_module", syscall(SYS_init_module, (void*)1, 0, ""));
}
