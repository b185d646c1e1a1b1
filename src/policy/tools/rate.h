// How often a tool may be called: "10/minute", "5/30s", "10/minute, burst 3".
#pragma once

#include <string_view>

#include "paddock/error.h"
#include "policy/tools/tool.h"

namespace paddock::policy {

Result<Rate> parse_rate(std::string_view text);

}  // namespace paddock::policy
