// K10 user namespace: unshare(CLONE_NEWUSER), the door to most kernel bugs of the last years.
// layers: seccomp
// process: seccomp
// control: run
#include <sched.h>

#include "hostile.h"

int main(void) {
  if (unshare(CLONE_NEWUSER) == 0) escaped("a user namespace with every capability in it");
  stopped("unshare(CLONE_NEWUSER)");
}
