// The steps that build the root of a living sandbox: overlays that can be written to, and Paddock's
// own places in them.
#pragma once

#include <vector>

#include "launch/plan.h"
#include "wall/limits.h"
#include "wall/request.h"

namespace paddock::wall {

// The order of the steps is the order of the mounts: later ones cover earlier ones.
Result<std::vector<launch::Step>> plan_living_root(const Request& request, const HostFacts& facts);

// Whether /usr can be written to. That needs ids that stand for the owners of the host's files.
inline bool has_writable_usr(const LivingRequest& living) {
  return living.host_usr && living.disk_base != 0;
}

}  // namespace paddock::wall
