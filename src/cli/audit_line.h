// A record of the audit log as a line for people. Everything in it was chosen by programs or
// callers, and is made printable.
#pragma once

#include <string>

#include "audit/index.h"
#include "cli/cli.h"

namespace paddock::cli {

// "2026-01-31 12:00:00.123      17  command.start   box  local/ann  allow  sleep 1". `width` 0: as
// long as it is.
std::string readable(const audit::Found& found, const Colours& colour, size_t width);

}  // namespace paddock::cli
