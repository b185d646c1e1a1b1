// K02 leaked directory: changes into it and stats a host file by a relative path.
// layers: code
// process: code
// control: none
// leak: directory
// args: {fd}
#include "hostile.h"

int main(int argc, char** argv) {
  if (fchdir(atoi(argument(argc, argv, 1))) == -1) stopped("fchdir to the leaked descriptor");
  struct stat found;
  if (stat("secret", &found) == -1) stopped("stat secret");
  escaped("cwd is a directory of the host");
}
