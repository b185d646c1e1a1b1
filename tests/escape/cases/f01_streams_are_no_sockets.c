// F01 standard streams: looks whether one of them is a socket to the keeper or the caller, over which more could be said.
// layers: code
// process: code
// control: none
#include "hostile.h"

int main(void) {
  for (int fd = 0; fd < 3; ++fd) {
    struct stat stream;
    if (fstat(fd, &stream) == 0 && S_ISSOCK(stream.st_mode)) escaped("descriptor %d is a socket", fd);
  }
  held("no standard stream is a socket");
}
