// K19 request_key: has the kernel look for a key, the call that can start /sbin/request-key on the host.
// layers: seccomp
// process: seccomp
// control: observe
#include "hostile.h"

int main(void) {
  judge_reach("request_key", syscall(SYS_request_key, "user", "no-such-key", NULL, 0));  // no callout: nothing is started
}
