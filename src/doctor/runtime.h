// Walls that this version does not contain: whether what they would need is installed and answers.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "wall/support.h"

namespace paddock::doctor {

wall::Support probe_runtime(WallKind wall);

// The first line that a program, found in $PATH, prints on its stdout. Fails when there is none.
Result<std::string> first_line_of(const std::vector<std::string>& argv);

}  // namespace paddock::doctor
