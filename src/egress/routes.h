// Asks the kernel whether an address is one of this host's own at this moment.
#pragma once

#include "base/fd.h"
#include "net/address.h"
#include "paddock/error.h"

namespace paddock::egress {

class Routes {
 public:
  static Result<Routes> open();  // before the process gives up netlink sockets

  // Where a packet to this address would go, asked as `ip route get` does: true when it stays on
  // this host (an address of any interface, first or not, a broadcast or multicast group). An
  // answer that cannot be had counts as true.
  bool stays_here(const net::Address& address);

 private:
  Fd socket_;
  uint32_t sequence_ = 0;
};

}  // namespace paddock::egress
