// The keeper: stays outside one sandbox, holds its process and cgroups, watches the limits the kernel does not hold,
// and removes everything at the end; also when the caller dies first.
#pragma once

namespace paddock::launch {

// `control` is the socket to the caller. Returns the keeper's exit status.
int keep(int control);

}  // namespace paddock::launch
