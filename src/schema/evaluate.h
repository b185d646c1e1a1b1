// Whether a value fits a program. One run over both, bounded in steps and depth; what cannot be
// judged within them does not fit.
#pragma once

#include <vector>

#include "base/value.h"
#include "schema/compiled.h"
#include "schema/schema.h"

namespace paddock::schema {

// Up to `most` reasons why not; none if it fits.
std::vector<Violation> evaluate(const Program& program, const Value& value, size_t most);

}  // namespace paddock::schema
