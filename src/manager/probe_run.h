// A short run of a program of our own: output kept, changes thrown away, what holds read back
// unless told otherwise.
#pragma once

#include "manager/run.h"

namespace paddock::manager {

Result<RunResult> run_probe(Prepared prepared, bool report = true);

}  // namespace paddock::manager
