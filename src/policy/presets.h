// The policies that come with Paddock: presets/*.toml, compiled into the program.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::policy {

std::vector<std::string> preset_names();

// Code::not_found with a suggestion and the list when there is no such preset.
Result<Policy> preset(const std::string& name);

}  // namespace paddock::policy
