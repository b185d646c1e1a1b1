// K20 disks: opens the host's block devices, whose bytes know no permissions.
// layers: dev uid
// process: landlock uid
// control: observe
// control(user): kernel
#include "hostile.h"

int main(void) {
  static const char* const kPaths[] = {"/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/xvda", "/dev/loop0", "/dev/dm-0", "/dev/zram0"};
  int last = ENOENT;
  for (size_t i = 0; i < sizeof kPaths / sizeof *kPaths; ++i) {
    if (open(kPaths[i], O_RDONLY | O_CLOEXEC) >= 0) escaped("%s is open", kPaths[i]);
    if (errno != ENOENT) last = errno;
  }
  held("%s", strerror(last));
}
