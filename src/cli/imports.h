// [code.python] imports: tells an agent early that its program uses a module it should not. A hint,
// not a wall: code can import in ways no parser sees.
#pragma once

#include "paddock/sandbox.h"

namespace paddock::cli {

// Parses the program with Python's own ast, inside a sandbox, and names every offending import with
// its line.
Result<void> check_imports(const Command& command, const Policy& policy);

}  // namespace paddock::cli
