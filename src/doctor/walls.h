// What `paddock doctor` reports about a wall, found out by trying it.
#pragma once

#include "wall/support.h"

namespace paddock::doctor {

// For the process and container walls: really runs a program with every limit set, and reports what
// the kernel shows. Limits that are refused are looked at one by one.
wall::Support probe_wall(WallKind wall);

}  // namespace paddock::doctor
