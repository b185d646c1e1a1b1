// Why a first command so often fails, in one line: the program does not see the directory it was
// started in, the network is off, an interpreter lies elsewhere. Only what is known to be so is
// said.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "paddock/sandbox.h"
#include "wall/request.h"

namespace paddock::runs {

// Hints for a program that ran and did not succeed. `tail` is the end of what it printed.
std::vector<std::string> failure_hints(const wall::Request& request, const std::string& directory,
                                       std::string_view tail);

// For a program that was not found inside although it is on the host: why it is not seen there.
// Empty if the reason is not known.
std::string missing_program_hint(const wall::Request& request, const std::string& directory);

}  // namespace paddock::runs
