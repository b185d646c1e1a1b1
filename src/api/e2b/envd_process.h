// process.Process of envd: starting commands and terminals, and what one does with them while they
// run.
#pragma once

#include "api/e2b/envd_rpc.h"

namespace paddock::api {

io::Task<Reply> serve_process(SandboxCall& envd, std::string method);

// How the end of a process is told, in the words of Go, which E2B's clients show:
// {"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}, from a guest's
// {"code":3}; without "error" for 0; "signal: killed" and exitCode -1 from {"signal":"SIGKILL"} or
// {"signal":9}. `limit`: the limit that ended it, in words; it stands in front of the error.
Value end_event(const Value& result, const std::string& limit = "");

}  // namespace paddock::api
