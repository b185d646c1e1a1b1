// The templates that come out of the box: `base` and `code-interpreter-v1`, made from the host's own system.
#pragma once

#include "io/loop.h"
#include "paddock/error.h"
#include "store/template.h"

namespace paddock::manager {

// Makes them when they are missing or when the host changed since; the loop goes on meanwhile. Sandboxes made from older
// ones keep what they have.
io::Task<Result<void>> ensure_base(io::Loop& loop, store::Templates& templates);

}  // namespace paddock::manager
