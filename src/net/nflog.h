// Packets that the kernel reports when it drops them (NFLOG, linux/netfilter/nfnetlink_log.h).
// Their bytes are the program's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/address.h"

namespace paddock::net {

struct DroppedPacket {
  std::string protocol;  // udp, icmp, sctp, …
  Endpoint to;           // port 0 for protocols without
};

// One netlink message, which carries the packet's first bytes.
std::optional<DroppedPacket> parse_dropped(std::string_view message);

}  // namespace paddock::net
