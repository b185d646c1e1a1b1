// paddock mcp servers, pins, accept, forget: what the servers behind the gateway offer, and what of
// a change is accepted.
#pragma once

#include "cli/cli.h"

namespace paddock::cli {

std::span<const Verb> mcp_verbs();  // those of `paddock mcp`, which serves without one

}  // namespace paddock::cli
