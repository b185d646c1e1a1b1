// K15 process_vm_readv: reads the memory of the process that started it.
// layers: seccomp undumpable
// process: seccomp landlock caps
// process(user): seccomp landlock
// control: observe
#include <sys/uio.h>

#include "hostile.h"

int main(void) {
  char byte;
  struct iovec local = {.iov_base = &byte, .iov_len = 1};
  struct iovec remote = {.iov_base = (void*)0x1000, .iov_len = 1};  // unmapped: EFAULT comes after the permission check
  if (process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == 1) escaped("one byte of process %d", getppid());
  if (errno == EFAULT) escaped("process %d's memory is readable", getppid());
  stopped("process_vm_readv parent");
}
