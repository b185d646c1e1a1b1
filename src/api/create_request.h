// The body of POST /v1/sandboxes.
#pragma once

#include "base/value.h"
#include "manager/manager.h"

namespace paddock::api {

Result<manager::CreateOptions> read_create(const Value& body);

// What a call may say about its policy: a preset's name, an object with the keys of a policy file, or a list of these,
// combined by intersection. Never a file of the host.
Result<Policy> read_policy(const Value* policy, const Value* limits, const Value* allow_net);

}  // namespace paddock::api
