// What `paddock doctor` tells: found out by doing it.
#pragma once

#include "wall/support.h"

namespace paddock::doctor {

// process and container: really runs a program with every limit set, and takes over what the kernel
// shows. Limits that are refused are looked at one by one.
wall::Support probe_wall(WallKind wall);

}  // namespace paddock::doctor
