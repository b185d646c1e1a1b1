// The keeper: stays outside one sandbox, holds its process and cgroups, watches the limits the
// kernel does not hold, and removes everything at the end; also when the caller dies first.
#pragma once

#include "launch/plan.h"

namespace paddock::launch {

// `control` is the socket to the caller. Returns the keeper's exit status. With `ahead` it makes
// the namespaces of a container while the caller still thinks about the plan; a plan that wants
// others costs only that work.
int keep(int control, bool ahead);

// What a keeper would have removed, done by its caller when it was killed.
void clean_up_after(const Plan& plan);

}  // namespace paddock::launch
