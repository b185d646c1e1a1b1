// What the egress process gives up before it reads a hostile byte.
#pragma once

#include <cstdint>

#include "paddock/error.h"

namespace paddock::egress {

// Gives up everything that serving does not need: the identity (when root gave another),
// capabilities, files, programs, most system calls. Irreversible. An egress process that cannot do
// this must not serve.
Result<void> lock_down(uint32_t uid);

// Raises the limit of open files to the most that is allowed, and returns it: each connection takes
// two.
uint64_t raise_open_files();

}  // namespace paddock::egress
