// K19 swapon: adds swap to the host (from a file that does not exist).
// layers: seccomp caps user_ns
// process: seccomp caps
// control: observe
// control(user): kernel
#include <sys/swap.h>

#include "hostile.h"

int main(void) {
  if (swapoff("/no-such-swap-file") == -1 && errno == ENOENT) escaped("swapoff reached the kernel");
  judge_reach("swapon", swapon("/no-such-swap-file", 0));
}
