// [[tools]], [calls] and [mcp.servers] of a policy: checked here, and kept as canonical JSON that
// policy/tools/tool.h makes judges of.
#pragma once

#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"
#include "policy/decode.h"

namespace paddock::policy {

Result<std::vector<ToolPolicy>> decode_tools(const Cursor& tools, const DecodeContext& context);
Result<std::string> decode_calls(const Cursor& calls);
Result<std::vector<ToolPolicy>> decode_servers(const Cursor& mcp, const DecodeContext& context);

// What one list says against the other: a command with a name that could be a server's tool, two
// servers with one prefix.
Result<void> check_names(const Policy& policy);

}  // namespace paddock::policy
