// What probes run: our own programs in a sandbox, and the programs that other walls would need.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"
#include "run/run.h"
#include "wall/support.h"

namespace paddock::doctor {

// For walls that this version does not contain: whether what they would need is installed and
// answers.
wall::Support probe_runtime(WallKind wall);

// The first line that a program, found in $PATH, prints on its stdout. Fails if there is none
// within a few seconds.
Result<std::string> first_line_of(const std::vector<std::string>& argv);

// A short run of one of our programs: its output is kept, its changes are thrown away, and what is
// enforced is read back unless `report` is false.
Result<RunResult> run_probe(runs::Prepared prepared, bool report = true);

}  // namespace paddock::doctor
