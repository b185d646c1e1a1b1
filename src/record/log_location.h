// Where the audit log of this state directory is: audit/ in it, unless a server's policy named
// another place. Then the server leaves that name here, so that commands beside it (runs, keys,
// `paddock audit`) write to and look at the same log.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::record {

// Leaves the name for others, or removes it if the log is audit/ itself.
Result<void> leave_log_location(const std::string& state_directory, const std::string& log);
// Fails if what was left there cannot be trusted.
Result<std::string> log_location(const std::string& state_directory);

}  // namespace paddock::record
