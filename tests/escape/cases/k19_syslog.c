// K19 syslog: reads the kernel's log of the whole host.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include <sys/klog.h>

#include "hostile.h"

int main(void) {
  char log[256];
  if (klogctl(3, log, sizeof log) >= 0) escaped("the kernel's log is readable");
  stopped("syslog");
}
