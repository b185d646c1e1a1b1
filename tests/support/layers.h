// Taking layers out of a prepared run, one by one, by name.
#pragma once

#include <string>

#include "run/prepare.h"

namespace paddock::tests {

// The names are those of the escape cases' `layers:` lines.
Result<void> remove_layer(runs::Prepared& prepared, const std::string& layer);

// To be called once all are out: mends what a missing layer makes impossible (a rule for a path
// that is not there).
void mend(runs::Prepared& prepared);

}  // namespace paddock::tests
