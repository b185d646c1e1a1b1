// K34 memfd: executes itself out of anonymous memory and tries a filtered call from there.
// layers: seccomp
// process: seccomp
// control: run
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/sendfile.h>

#include "hostile.h"

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "inner") == 0) {
    if (personality(ADDR_NO_RANDOMIZE) != -1) escaped("a program from memory has no filter");
    stopped("personality from a memfd program");
  }
  int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  int copy = memfd_create("copy", MFD_CLOEXEC);
  if (self == -1 || copy == -1) stopped("memfd_create");
  while (sendfile(copy, self, NULL, 1 << 20) > 0) continue;
  char* arguments[] = {"copy", "inner", NULL};
  char* environment[] = {NULL};
  fexecve(copy, arguments, environment);
  stopped("fexecve of a memfd");
}
