// Names of HTTP headers that a policy may have sent along.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::policy {

// Refuses what is no header's name, what frames a message or decides how it is read, and what is
// meant for a proxy.
Result<std::string> header_name(const std::string& text);

}  // namespace paddock::policy
