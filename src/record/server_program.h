// Work that the slim program leaves to paddock-server: what needs OpenSSL's providers, or a
// network.
#pragma once

#include <string>
#include <vector>

#include "paddock/error.h"

namespace paddock::record {

// paddock-server ARGUMENTS…, with `input` as its stdin and nothing of the environment but OTEL_…;
// waits so long, then ends it. The error arm: it could not be started, failed (with what it said)
// or took too long.
Result<void> run_server_program(const std::vector<std::string>& arguments, const std::string& input,
                                int milliseconds);

}  // namespace paddock::record
