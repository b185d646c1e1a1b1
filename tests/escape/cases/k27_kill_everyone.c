// K27 signals: kill(-1), everyone whom it may signal (with signal 0).
// layers: pid_ns landlock uid
// layers(user): pid_ns landlock
// process: landlock uid
// process(user): landlock
// control: run
#include <signal.h>

#include "hostile.h"

int main(void) {
  if (kill(-1, 0) == 0) escaped("there are others to signal");
  stopped("kill(-1)");
}
