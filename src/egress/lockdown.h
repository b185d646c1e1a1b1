#pragma once

#include <cstdint>

#include "paddock/error.h"

namespace paddock::egress {

// Gives up everything that serving does not need: the identity (when root gave another),
// capabilities, files, programs, most system calls. Irreversible. An egress process that cannot do
// this must not serve.
Result<void> lock_down(uint32_t uid);

// Lets this process have as many descriptors as it may: two for each connection.
uint64_t raise_open_files();

}  // namespace paddock::egress
