// K30 I/O ports: ioperm and iopl.
// layers: seccomp caps user_ns
// process: seccomp caps
// control: run
// control(user): kernel
#include <sys/io.h>

#include "hostile.h"

int main(void) {
  if (ioperm(0x80, 1, 1) == 0) escaped("port 0x80 is ours");
  judge_reach("iopl", iopl(3));
}
