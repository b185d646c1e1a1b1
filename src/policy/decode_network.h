// The [network] of a policy: hosts, resolvers and the headers that are put in on the way out.
#pragma once

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"
#include "policy/path.h"

namespace paddock::policy {

struct NetworkContext {
  bool refuse_wide = true;   // nobody accepted network.wide
  const PathContext& paths;  // for file:PATH
};

Result<NetworkPolicy> decode_network(const Cursor& network, const NetworkContext& context);

}  // namespace paddock::policy
