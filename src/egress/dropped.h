// Packets that nothing carries (UDP other than DNS, ICMP, SCTP, …). The kernel drops them inside
// the sandbox and tells us.
#pragma once

#include "egress/gate.h"

namespace paddock::egress {

Task<void> log_dropped(Gate& gate, Socket& socket);

}  // namespace paddock::egress
