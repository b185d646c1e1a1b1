// The origin that a request claims for itself: used in records, never to grant rights.
#pragma once

#include <string>
#include <string_view>

#include "api/http/exchange.h"
#include "manager/manager.h"

namespace paddock::api {

// Fills in `agent` (X-Paddock-Agent) and `cause` (traceparent; without one a new trace, whose first
// span has no parent).
void take_origin(const Exchange& exchange, manager::Caller& caller);
std::string agent_name(std::string_view told);  // printable, at most 128 bytes

}  // namespace paddock::api
