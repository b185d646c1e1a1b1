// K21 pivot_root: with a new root that does not exist, so that a caller who got this far is told ENOENT.
// layers: seccomp caps
// process: seccomp caps
// control: observe
// control(process user): kernel
#include "hostile.h"

int main(void) { judge_reach("pivot_root", syscall(SYS_pivot_root, "/no-such-root", "/no-such-root")); }
