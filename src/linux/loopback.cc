#include "linux/loopback.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "base/fd.h"
#include "base/text.h"

namespace paddock::kernel {

Result<void> bring_loopback_up() {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return errno_error(errno, "open a socket to bring loopback up");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    return errno_error(errno, "bring loopback up");
  return {};
}

}  // namespace paddock::kernel
