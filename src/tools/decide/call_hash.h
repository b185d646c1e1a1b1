// What an approval is for.
#pragma once

#include <string>

#include "base/value.h"

namespace paddock::tools {

struct CallIdentity {
  std::string tool, agent;
  // The result of policy::Tools::hash_of().
  std::string policy;
  // ToolInfo::definition: another one is another tool.
  std::string definition;
  // What a client sends ahead of the tool's questions, as JSON.
  std::string answers;
};

// Hex SHA-256. Two calls have the same hash only when all of this is the same. The order of members
// does not matter; everything else does (1 is not 1.0).
std::string call_hash(const CallIdentity& call, const Value& arguments);

}  // namespace paddock::tools
