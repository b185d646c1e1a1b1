// The parts of `paddock audit`.
#pragma once

#include <string>

#include "paddock/error.h"

namespace paddock::cli {

int audit_show(int argc, char** argv);
int audit_tail(int argc, char** argv);

// Where the log is: what --dir says, else audit/ in the state directory.
Result<std::string> audit_directory(const std::string& given);

}  // namespace paddock::cli
