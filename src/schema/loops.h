// Schemas that apply each other to the same value without end.
#pragma once

#include "schema/compiled.h"

namespace paddock::schema {

// Refuses a program in which a node leads back to itself without a step into the value: {"$ref":
// "#"}.
Result<void> check_loops(const Program& program);

}  // namespace paddock::schema
