// The templates that come out of the box: `base` and `code-interpreter-v1`, made from the host's
// own system.
#pragma once

#include <functional>
#include <string>

#include "io/loop.h"
#include "paddock/error.h"
#include "store/template.h"

namespace paddock::manager {

inline constexpr char kCodeTemplate[] = "code-interpreter-v1";

// Makes them when they are missing or when the host changed since; the loop goes on meanwhile.
// Sandboxes made from older ones keep what they have. Calls `usable` as soon as those that are
// there may be used: before the slow part of the comparison, which looks for files of /usr that
// were closed since, and which a server that runs on does not repeat either.
io::Task<Result<void>> ensure_base(io::Loop& loop, store::Templates& templates,
                                   std::function<void()> usable);

// What cells of `code-interpreter-v1` could use and this host does not have, as a sentence; empty
// when nothing is missing.
std::string missing_for_code();

}  // namespace paddock::manager
