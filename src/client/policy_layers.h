// The policies of a call as the server takes them.
#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "paddock/policy.h"

namespace paddock::client {

// A preset goes by its name and a file as what stands in it, since the server may not see this
// machine's files. `call` comes last: what the last layer asks for is given or refused, while the
// others only narrow each other.
Result<Value> policy_layers(const std::vector<std::string>& names, const Policy& call);

}  // namespace paddock::client
