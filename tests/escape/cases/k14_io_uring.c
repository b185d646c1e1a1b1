// K14 io_uring: sets up a ring, through which opens and connects pass no seccomp filter.
// layers: seccomp
// process: seccomp
// control: run
#include <linux/io_uring.h>

#include "hostile.h"

int main(void) {
  struct io_uring_params parameters = {0};
  if (syscall(SYS_io_uring_setup, 4, &parameters) >= 0) escaped("an io_uring is ours");
  if (syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0) == -1 && errno == EBADF) escaped("io_uring_enter reached the kernel");
  if (syscall(SYS_io_uring_register, -1, 0, NULL, 0) == -1 && errno == EBADF) escaped("io_uring_register reached the kernel");
  stopped("io_uring");
}
