// Packets that nothing carries (UDP other than DNS, ICMP, SCTP, …). The kernel drops them inside
// the sandbox and reports them here.
#pragma once

#include "egress/gate.h"

namespace paddock::egress {

// Logs each reported packet as denied, until the socket ends.
Task<void> log_dropped(Gate& gate, Socket& socket);

}  // namespace paddock::egress
