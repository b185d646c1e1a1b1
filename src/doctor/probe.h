// A short run of a program of our own: output kept, changes thrown away, what holds read back
// unless told otherwise.
#pragma once

#include "run/run.h"

namespace paddock::doctor {

Result<RunResult> run_probe(runs::Prepared prepared, bool report = true);

}  // namespace paddock::doctor
