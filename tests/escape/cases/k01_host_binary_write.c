// K01 host's programs: opens /usr/bin/env for writing, which the host runs later.
// layers: read_only landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  int fd = open("/usr/bin/env", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) escaped("/usr/bin/env is writable");
  stopped("open /usr/bin/env for writing");
}
