// K19 acct: has every process of the host recorded into a file (one that does not exist).
// layers: seccomp caps user_ns
// process: seccomp caps
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) { judge_reach("acct", acct("/no-such-accounting-file")); }
