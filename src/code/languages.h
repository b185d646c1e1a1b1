// The languages that contexts can have, and the programs behind them.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::code {

// As clients write it ("JS ", "ts") → as it is called here. Code::invalid for one that nobody
// knows.
Result<std::string> language_of(std::string asked);

struct KernelProgram {
  std::vector<std::string> argv;
  // What must be installed inside, for people.
  std::string needs;
};

// Takes a name from language_of().
KernelProgram kernel_program(const std::string& language);

}  // namespace paddock::code
