// [[tools]], [calls] and [mcp.servers] of a policy: checked here, and kept as canonical JSON that
// policy/tools/tool.h makes judges of.
#pragma once

#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/key.h"

namespace paddock::policy {

Type<std::vector<ToolPolicy>> tool_entries();
Type<std::string> call_bounds();
Type<std::vector<ToolPolicy>> server_entries();

// What one list says against the other: a command with a name that could be a server's tool, two
// servers with one prefix.
Result<void> check_names(const Policy& policy);

}  // namespace paddock::policy
