// What probes run: programs of our own in a sandbox, and the programs that other walls would need.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "run/run.h"
#include "wall/support.h"

namespace paddock::doctor {

// Walls that this version does not contain: whether what they would need is installed and answers.
wall::Support probe_runtime(WallKind wall);

// The first line that a program, found in $PATH, prints on its stdout. Fails when there is none.
Result<std::string> first_line_of(const std::vector<std::string>& argv);

// A short run of a program of our own: output kept, changes thrown away, what holds read back
// unless told otherwise.
Result<RunResult> run_probe(runs::Prepared prepared, bool report = true);

}  // namespace paddock::doctor
