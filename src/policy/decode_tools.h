// The [[tools]] of a policy: checked here, kept as canonical JSON for the tool gateway.
#pragma once

#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"
#include "policy/cursor.h"

namespace paddock::policy {

Result<std::vector<ToolPolicy>> decode_tools(const Cursor& tools);

}  // namespace paddock::policy
