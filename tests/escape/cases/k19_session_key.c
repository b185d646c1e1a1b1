// K19 session keyring: finds and reads a key that the caller's session holds.
// layers: seccomp keyring
// process: seccomp keyring
// control: run
#include <linux/keyctl.h>

#include "hostile.h"

int main(void) {
  long key = syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", "paddock-escape", 0);
  if (key == -1) stopped("keyctl(KEYCTL_SEARCH)");
  char secret[64] = "";
  if (syscall(SYS_keyctl, KEYCTL_READ, key, secret, sizeof secret - 1) == -1) stopped("keyctl(KEYCTL_READ)");
  escaped("the caller's key holds '%s'", secret);
}
