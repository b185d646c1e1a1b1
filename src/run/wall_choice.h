// The wall of a run or of a living sandbox, chosen by its policy and by what this host has.
#pragma once

#include "paddock/error.h"
#include "paddock/policy.h"

namespace paddock::runs {

// `policy` is the combined one; policy::choose_wall() has the rules. A wall counts as available
// when this version has it and its program is installed: whether it then works shows when it is
// used, since a trial would make every start slower.
Result<WallKind> choose_wall(const Policy& policy);

}  // namespace paddock::runs
