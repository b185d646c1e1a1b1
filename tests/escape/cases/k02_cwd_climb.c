// K02 working directory: climbs from the cwd to the top and reads a host file from there.
// layers: mount_ns
// process: landlock
// control: run
// args: {secret}
#include "hostile.h"

int main(int argc, char** argv) {
  const char* secret = argument(argc, argv, 1);
  char cwd[4096];
  if (!getcwd(cwd, sizeof cwd)) stopped("getcwd");
  if (cwd[0] != '/') escaped("the cwd lies outside of the root: %s", cwd);
  char path[4096] = "";
  for (int i = 0; i < 40; ++i) strcat(path, "../");
  strncat(path, secret + 1, sizeof path - strlen(path) - 1);
  if (open(path, O_RDONLY | O_CLOEXEC) == -1) stopped("open ../../…");
  escaped("%s is open", secret);
}
