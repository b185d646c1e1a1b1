// Notes about what enters a sandbox through its environment.
#pragma once

#include <string>
#include <vector>

#include "paddock/sandbox.h"

namespace paddock::runs {

// A note for each variable that was passed openly although it looks like a secret, or that makes
// programs run other code than their own. The presets' own variables are not the caller's and get
// none.
std::vector<std::string> environment_notes(const Command& command, const Policy& policy);

// Whether a program that finds this variable loads or runs what it names.
bool steers_programs(std::string_view name);

}  // namespace paddock::runs
