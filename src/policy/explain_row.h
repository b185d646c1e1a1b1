// How an explanation is laid out, and its part about tools.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "paddock/policy.h"

namespace paddock::policy {

inline constexpr size_t kNameWidth = 17;

inline std::string row(std::string_view name, std::string_view text) {
  std::string line = cat("  ", name);
  line.resize(std::max(line.size() + 1, kNameWidth + 2), ' ');
  return cat(line, text, "\n");
}

std::string explain_tools(const Policy& policy);

}  // namespace paddock::policy
