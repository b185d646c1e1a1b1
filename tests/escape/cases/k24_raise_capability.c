// K24 raising: capset, the ambient set, keepcaps and secure bits.
// layers: caps
// process: caps
// control: run
// control(process user): kernel
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

#include "hostile.h"

int main(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct wanted[2] = {{0}};
  wanted[0].effective = wanted[0].permitted = wanted[0].inheritable = 1u << CAP_SYS_ADMIN;
  if (syscall(SYS_capset, &header, wanted) == 0) escaped("CAP_SYS_ADMIN by capset");
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) == 0) escaped("CAP_SYS_ADMIN in the ambient set");
  if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT) == 0) escaped("secure bits are ours to set");
  stopped("raise");
}
