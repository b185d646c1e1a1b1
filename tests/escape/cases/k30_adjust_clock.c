// K30 clock: adjtimex and clock_adjtime with the tick that is already set.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include <sys/timex.h>
#include <time.h>

#include "hostile.h"

int main(void) {
  struct timex clock = {0};
  if (adjtimex(&clock) == -1) stopped("adjtimex: read");
  clock.modes = ADJ_TICK;
  if (adjtimex(&clock) != -1) escaped("the host's clock is ours to adjust");
  if (clock_adjtime(CLOCK_REALTIME, &clock) != -1) escaped("the host's clock is ours to adjust by clock_adjtime");
  stopped("adjtimex");
}
