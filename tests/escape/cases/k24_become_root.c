// K24 setuid(0) and kin: asks for root's ids.
// layers: caps user_ns
// process: caps
// control: run
// control(user): kernel
#include <grp.h>
#include <sys/fsuid.h>

#include "hostile.h"

int main(void) {
  if (getuid() == 0) cannot("already uid 0");
  gid_t group = 0;
  if (setgroups(1, &group) == 0) escaped("in group 0");
  if (setresgid(0, 0, 0) == 0) escaped("gid 0");
  if (setresuid(0, 0, 0) == 0) escaped("uid 0");
  setfsuid(0);
  if (setfsuid(-1) == 0) escaped("fsuid 0");
  stopped("setresuid");
}
