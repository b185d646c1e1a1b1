// K19 kexec: replaces the running kernel (with nothing: no segment is given).
// layers: seccomp caps user_ns
// process: seccomp caps
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  errno = 0;
  if (syscall(SYS_kexec_file_load, -1, -1, 0, NULL, ~0UL) == -1 && errno != EPERM && errno != ENOSYS) {
    escaped("kexec_file_load reached the kernel: %s", strerror(errno));
  }
  judge_reach("kexec_load", syscall(SYS_kexec_load, 0, 1000, NULL, 0));  // more segments than can be: EINVAL
}
