// K02 leaked directory: opens a host file through a directory descriptor that the caller left open (CVE-2024-21626).
// layers: code
// process: code
// control: none
// leak: directory
// args: {fd}
#include "hostile.h"

int main(int argc, char** argv) {
  int directory = atoi(argument(argc, argv, 1));
  if (openat(directory, "secret", O_RDONLY | O_CLOEXEC) == -1) stopped("openat through the leaked descriptor");
  escaped("a host file is open through descriptor %d", directory);
}
