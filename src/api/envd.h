// What E2B's clients find on port 49983 of a sandbox: processes and files by Connect-RPC, whole
// files by plain HTTP. Everything is done by the guest; here requests are read, judged (who may?)
// and put into the guest's words and back.
#pragma once

#include <memory>

#include "api/routes.h"

namespace paddock::api {

// Answers one request for port 49983 of `sandbox`. Checks its access token itself; wakes a paused
// one where that was asked for at its creation; answers 502 when it is not running.
io::Task<void> serve_envd(Call& call, std::shared_ptr<manager::Sandbox> sandbox);

// Whose access token, or signature made with it, a request without its sandbox's id carries; null
// when nobody's.
std::shared_ptr<manager::Sandbox> find_by_signature(Call& call);

}  // namespace paddock::api
