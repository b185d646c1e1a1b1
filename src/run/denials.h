// Denied paths, as far as denials can be enforced: what exists is covered by a mount, and what
// cannot be covered is refused.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "wall/request.h"

namespace paddock::runs {

// Fills request.denied with the host paths to cover: exact paths, and what the globs match in the
// granted trees at this moment. Returns the [danger] entries that were needed.
Result<std::vector<std::string>> expand_denials(wall::Request& request);

}  // namespace paddock::runs
