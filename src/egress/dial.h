// From a target that is allowed to a connection: resolve, judge the addresses, connect to exactly
// one of these.
#pragma once

#include <string>

#include "egress/gate.h"
#include "egress/stream.h"

namespace paddock::egress {

struct Dialled {
  bool connected = false;
  net::Address address;
  policy::Verdict verdict;  // of the address, once there was one
  std::string error;        // it was allowed, but failed: "no such name", "connection refused"
};

// Whether this target, allowed itself, may be reached at this address.
policy::Verdict judge(const Gate& gate, const Target& target, const net::Address& address);

// Opens `server` to where `target` is. The target itself has been allowed already.
Task<Dialled> dial(Gate& gate, Target target, policy::Verdict verdict, Stream& server);

}  // namespace paddock::egress
