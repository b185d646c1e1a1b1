// Events about sandboxes and acts on the server, filled in alike wherever they are made.
#pragma once

#include <string>

#include "base/event.h"
#include "manager/manager.h"

namespace paddock::manager {

// Caused by what made it.
Event event_about(const Sandbox& sandbox, std::string kind);
// Caused by this call.
Event event_about(const Sandbox& sandbox, std::string kind, const Caller& caller);
// "admin"; data gets the act and the key in front.
Event admin_event(const Caller& caller, const std::string& act, Value data);
// Without values of variables, headers and tools.
Value recorded_policy(const Policy& policy);

// The data of sandbox.create.
Value creation_of(const SandboxInfo& info, const CreateOptions& asked, const std::string& key);
// Hex; of its canonical form.
std::string policy_hash(const Policy& policy);
// It is accepted, and there is use for it.
bool is_weakened(const Policy& policy, const std::string& danger);
// From an entry of the network log.
Event connection_of(const Sandbox& sandbox, const Value& entry);

}  // namespace paddock::manager
