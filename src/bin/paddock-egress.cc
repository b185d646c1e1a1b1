// paddock-egress: carries the network of one sandbox to what its policy lists, and nowhere else.
// Started by paddock with its sockets as descriptors 3, 4 and 5; not meant to be run by hand.
#include <sys/stat.h>
#include <unistd.h>

#include "egress/egress.h"
#include "egress/settings.h"

int main() {
  struct stat info;
  for (int fd : {paddock::egress::kControl, paddock::egress::kEvents, paddock::egress::kSandbox}) {
    if (::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode)) continue;
    static const char kMessage[] = "paddock-egress is started by paddock, not by hand\n";
    (void)!::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
    return 125;
  }
  ::_exit(paddock::egress::serve());
}
