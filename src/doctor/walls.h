// What `paddock doctor` reports about a wall, found out by trying it.
#pragma once

#include "wall/support.h"

namespace paddock::doctor {

// Really runs a program behind the wall with every limit set, and reports what the kernel shows.
// Limits that are refused are looked at one by one. Of a wall that this version does not have, says
// whether what it would need is there.
wall::Support probe_wall(WallKind wall);

}  // namespace paddock::doctor
