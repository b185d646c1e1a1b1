// [[tools]], [calls] and [mcp.servers] in words.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "paddock/policy.h"

namespace paddock::policy {

// A line of an explanation.
inline std::string row(std::string_view name, std::string_view text) {
  constexpr size_t kNameWidth = 17;
  std::string line = cat("  ", name);
  line.resize(std::max(line.size() + 1, kNameWidth + 2), ' ');
  return cat(line, text, "\n");
}

// The rows about tools, and with headings of their own those about calls and servers.
std::string explain_tools(const Policy& policy);

}  // namespace paddock::policy
