// The server that the official conformance suite expects: tools, prompts and resources of given
// names that do given things. Served by `paddock mcp --fixture`, for tests of this server and of
// the gateway before it.
#pragma once

#include <memory>

#include "mcp/service.h"

namespace paddock::mcp {

std::unique_ptr<Service> make_fixture(io::Loop& loop);

}  // namespace paddock::mcp
