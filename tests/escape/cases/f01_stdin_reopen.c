// F01 standard input is a host file open for reading: reopens it through /proc/self/fd/0 for writing. Paddock gives pipes instead.
// layers: code
// process: code
// control: none
// stdin: file
#include "hostile.h"

int main(void) {
  struct stat input;
  if (fstat(0, &input) == -1) stopped("fstat");
  if (!S_ISREG(input.st_mode)) held("standard input is no file of the host");
  if (open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC) >= 0) escaped("the host's file is open for writing");
  stopped("open /proc/self/fd/0 for writing");
}
