// The only DNS server a sandbox can reach. Allowed names get their synthetic address; everything
// else does not exist, and nobody outside hears of it.
#pragma once

#include <string>

#include "egress/gate.h"

namespace paddock::egress {

// The answer to one message, at most `most` bytes; empty when there is nothing to answer.
Task<std::string> answer_lookup(Gate& gate, std::string message, size_t most);

// Answers datagrams for ever.
Task<void> serve_lookups(Gate& gate, Socket& socket);

}  // namespace paddock::egress
