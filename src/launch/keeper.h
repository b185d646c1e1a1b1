// The keeper stays outside one sandbox, holds its process and cgroups, watches the limits that the
// kernel does not enforce, and removes everything at the end, also if the caller dies first.
#pragma once

#include "launch/plan.h"

namespace paddock::launch {

// `control` is the socket to the caller. Returns the keeper's exit status. With `ahead` it makes
// the namespaces of a container while the caller still prepares the plan; if the plan wants others,
// only that work is lost.
int keep(int control, bool ahead);

// Removes what a keeper would have removed. Its caller does this if the keeper was killed.
void clean_up_after(const Plan& plan);

}  // namespace paddock::launch
