// K19 bpf: its argument parsing alone is reachable code for an unprivileged caller.
// layers: seccomp
// process: seccomp
// control: observe
#include "hostile.h"

int main(void) {
  judge_reach("bpf", syscall(SYS_bpf, 0, (void*)1, 16));  // EFAULT before any permission check
}
