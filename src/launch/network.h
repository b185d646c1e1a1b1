// The inside of a sandbox's network: addresses, rules, and the sockets that lead out of it.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "launch/plan.h"

namespace paddock::launch {

// Carries the plan out in this network namespace, which must be one of `namespaces` (CLONE_NEW*,
// the new ones this process is in), and needs CAP_NET_ADMIN in it. Then sends the byte 'N' over
// `egress`, and with it the TCP listener, the UDP socket and, where the kernel has it, the NFLOG
// socket. None of them stays open here.
Result<void> open_network(const NetworkPlan& plan, uint64_t namespaces, Fd egress);

}  // namespace paddock::launch
