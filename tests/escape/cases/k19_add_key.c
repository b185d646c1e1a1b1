// K19 add_key: fills kernel memory with keys, outside of the sandbox's own limits.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/keyctl.h>

#include "hostile.h"

int main(void) {
  if (syscall(SYS_add_key, "user", "escape", "x", 1, KEY_SPEC_PROCESS_KEYRING) >= 0) escaped("a key is in the kernel");
  stopped("add_key");
}
