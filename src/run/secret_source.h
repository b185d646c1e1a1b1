// The secrets that a policy names without holding them.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::runs {

// The value behind env:NAME or file:/PATH, or a literal one (policy/secret.h). `what` stands in
// front of errors, which never quote a value.
Result<std::string> read_secret(const std::string& source, const std::string& what);

}  // namespace paddock::runs
