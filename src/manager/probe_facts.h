// The things about this host that the walls depend on, each tried where it can be.
#pragma once

#include <vector>

#include "wall/support.h"

namespace paddock::manager {

std::vector<wall::Fact> probe_facts();

}  // namespace paddock::manager
