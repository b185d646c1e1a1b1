// What E2B's clients find on port 49983 of a sandbox: processes and files by Connect-RPC, whole
// files by plain HTTP. The guest does the work; here requests are read and authorized, and
// translated for the guest and back.
#pragma once

#include <memory>

#include "api/http/call.h"

namespace paddock::api {

// Answers one request for port 49983 of `sandbox`. Checks its access token itself; wakes a paused
// one where that was asked for at its creation; answers 502 when it is not running.
io::Task<Reply> serve_envd(Call& call, std::shared_ptr<manager::Sandbox> sandbox);

// The sandbox whose access token, or whose signature, a request without an id carries. Null: none.
std::shared_ptr<manager::Sandbox> find_by_signature(Call& call);

}  // namespace paddock::api
