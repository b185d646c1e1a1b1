// Packets that nothing carries (UDP other than DNS, ICMP, SCTP, …). The kernel drops them inside the sandbox and tells us.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "egress/gate.h"

namespace paddock::egress {

struct DroppedPacket {
  std::string protocol;
  net::Endpoint to;
};

// One NFLOG message of netlink (linux/netfilter/nfnetlink_log.h), which carries the packet's first bytes.
std::optional<DroppedPacket> parse_dropped(std::string_view message);

Task<void> log_dropped(Gate& gate, Socket& socket);

}  // namespace paddock::egress
