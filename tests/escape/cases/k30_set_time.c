// K30 clock: settimeofday with the time zone that is already set.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include <sys/time.h>

#include "hostile.h"

int main(void) {
  struct timezone zone = {0, 0};
  struct timeval now;
  if (gettimeofday(&now, &zone) == -1 || zone.tz_minuteswest != 0) cannot("the kernel's time zone is not 0");
  if (syscall(SYS_settimeofday, NULL, &zone) == 0) escaped("the host's clock is ours to set");
  stopped("settimeofday");
}
