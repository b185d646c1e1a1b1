// A sandbox's network as netlink messages. `lo` is all there is; the rules are those of
//
//   table inet paddock {
//     chain redirect {
//       # Every new connection, before it is routed.
//       type nat hook output priority -100
//       # One rule for each loopback port of the host that is allowed.
//       ip daddr 127.0.0.1 tcp dport 8080 redirect to :18128
//       # DNS, whatever resolver the program has in mind.
//       udp dport 53 redirect to :18128
//       # What the program says to itself stays its own.
//       ip daddr 127.0.0.0/8 accept
//       ip6 daddr ::1 accept
//       meta l4proto tcp redirect to :18128
//     }
//     chain answer {
//       # DNS answers go back from where the question arrived.
//       type nat hook postrouting priority 100
//       ct status dnat udp dport 18128 ip snat to 127.0.0.1
//       ct status dnat udp dport 18128 ip6 snat to ::1
//     }
//     chain rest {
//       # The sender gets EPERM at once.
//       type filter hook output priority 0; policy drop
//       ip daddr 127.0.0.0/8 accept
//       ip6 daddr ::1 accept
//       ct status dnat accept
//       ct direction reply accept
//       # Late packets of connections that are over: there is nothing to report.
//       ct state invalid drop
//       limit rate 50/second burst 100 packets log group 18 snaplen 96
//     }
//   }
#pragma once

#include <string>
#include <vector>

#include "launch/plan.h"
#include "net/address.h"
#include "paddock/error.h"

namespace paddock::wall {

// The host's own loopback services that the list names: single loopback addresses and `localhost`,
// each with its port. Entries without a port are refused: then all ports would be the host's, and
// none the program's own.
Result<std::vector<net::Endpoint>> loopback_services(const std::vector<std::string>& allow);

launch::NetworkPlan plan_network(const std::vector<net::Endpoint>& loopback, bool ipv6);

}  // namespace paddock::wall
