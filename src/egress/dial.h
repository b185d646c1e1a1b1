// From an allowed target to a connection: resolve its name, judge the addresses, and connect to
// exactly one of these.
#pragma once

#include <string>

#include "egress/gate.h"
#include "egress/stream.h"

namespace paddock::egress {

// How a dial ended: connected, denied by `verdict`, or failed with `error`.
struct Dialled {
  bool connected = false;
  net::Address address;
  policy::Verdict verdict;  // of the address, once there was one
  std::string error;        // it was allowed, but failed: "no such name", "connection refused"
};

// Whether this target, itself allowed, may be reached at this address. Private addresses and those
// of this host need to be listed.
policy::Verdict judge(const Gate& gate, const Target& target, const net::Address& address);

// Opens `server` to where `target` is. The target itself has been allowed already.
Task<Dialled> dial(Gate& gate, Target target, policy::Verdict verdict, Stream& server);

}  // namespace paddock::egress
