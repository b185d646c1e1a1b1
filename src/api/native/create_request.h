// The body of POST /v1/sandboxes.
#pragma once

#include "base/value.h"
#include "manager/manager.h"

namespace paddock::api {

Result<manager::CreateOptions> read_create(const Value& body);

// An object with the keys of a policy file, as a call sends it. Code::invalid when it is larger
// than any call needs. `~` and relative paths lead nowhere near this server's own.
Result<Policy> decode_call(const Value& policy, const char* name, bool refuse_wide);

// What a call may say about its policy: a preset's name, an object with the keys of a policy file,
// or a list of these, combined by intersection. Never a file of the host.
Result<Policy> read_policy(const Value* policy, const Value* limits, const Value* allow_net);

}  // namespace paddock::api
