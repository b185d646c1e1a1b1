// Work that the slim program leaves to paddock-server: what needs OpenSSL's providers, or a
// network.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::record {

// Runs paddock-server with these arguments, with `input` as its stdin and nothing of the
// environment but OTEL_… variables. Ends it after so many milliseconds. Fails if it could not be
// started, failed (with what it printed) or took too long.
Result<void> run_server_program(const std::vector<std::string>& arguments, const std::string& input,
                                int milliseconds);

}  // namespace paddock::record
