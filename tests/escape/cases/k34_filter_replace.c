// K34 filter: puts an allow-everything filter on top, switches seccomp off, and asks for a listener; then tries the call.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/personality.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {.len = 1, .filter = &allow};
  prctl(PR_SET_SECCOMP, 0 /* SECCOMP_MODE_DISABLED */);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (personality(ADDR_NO_RANDOMIZE) != -1) escaped("the filter is gone");
  stopped("personality");
}
