// Walls that this version does not contain: whether what they would need is installed and answers.
#pragma once

#include "wall/support.h"

namespace paddock::manager {

wall::Support probe_runtime(WallKind wall);

}  // namespace paddock::manager
