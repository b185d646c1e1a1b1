// K07 binfmt_misc: registers itself as an interpreter through the host's register file, if it is mounted.
// layers: read_only landlock uid
// process: landlock uid
// control: observe
// control(user): kernel
// needs: /proc/sys/fs/binfmt_misc/register
#include "hostile.h"

int main(void) {
  if (open("/proc/sys/fs/binfmt_misc/register", O_WRONLY | O_CLOEXEC) == -1) stopped("open binfmt_misc/register");
  escaped("binfmt_misc/register is open for writing");
}
