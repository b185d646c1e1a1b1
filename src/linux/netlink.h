// Speaking to the kernel over netlink. Knows how messages are answered, not what they say.
#pragma once

#include <string_view>

#include "base/fd.h"
#include "paddock/error.h"

namespace paddock::kernel {

Result<Fd> open_netlink(int protocol);  // NETLINK_ROUTE, NETLINK_NETFILTER, …; non-blocking

// Sends finished messages, all in one piece, and reads the kernel's answer to each that asks for
// one (NLM_F_ACK). Fails with the first refusal, or if an answer is missing.
Result<void> send_netlink_on(int socket, std::string_view messages);

// The same on a socket of its own.
Result<void> send_netlink(int protocol, std::string_view messages);

}  // namespace paddock::kernel
