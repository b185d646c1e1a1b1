// How the end of a process is told to E2B's clients: in the words of Go, which they show.
#pragma once

#include <string>

#include "base/value.h"

namespace paddock::api {

// {"exitCode":3,"exited":true,"status":"exit status 3","error":"exit status 3"}, from a guest's
// {"code":3}; without "error" for 0; "signal: killed" and exitCode -1 from {"signal":"SIGKILL"} or
// {"signal":9}. `limit`: the limit that ended it, in words; it stands in front of the error.
Value end_event(const Value& result, const std::string& limit = "");

}  // namespace paddock::api
