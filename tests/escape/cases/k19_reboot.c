// K19 reboot: with wrong magic numbers, so that a caller who got this far is told EINVAL.
// layers: seccomp caps
// process: seccomp caps
// control: observe
// control(process user): kernel
#include "hostile.h"

int main(void) { judge_reach("reboot", syscall(SYS_reboot, 0, 0, 0, NULL)); }
