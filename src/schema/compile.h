// From a document to a program: every keyword looked up, every reference resolved, every bound
// checked, once.
#pragma once

#include "base/value.h"
#include "schema/compiled.h"

namespace paddock::schema {

Result<Program> compile_program(const Value& document);

}  // namespace paddock::schema
