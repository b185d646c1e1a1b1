// Events about sandboxes and acts on the server, filled in alike wherever they are made.
#pragma once

#include <string>

#include "base/event.h"
#include "manager/manager.h"

namespace paddock::manager {

Event event_about(const Sandbox& sandbox, std::string kind);                        // caused by what made it
Event event_about(const Sandbox& sandbox, std::string kind, const Caller& caller);  // caused by this call
Event act_of(const Caller& caller, const std::string& act, Value data);             // "admin"; data gets the act and the key in front
Value recorded_policy(const Policy& policy);                                        // without values of variables, headers and tools

Value creation_of(const SandboxInfo& info, const CreateOptions& asked, const std::string& key);  // the data of sandbox.create
std::string policy_hash(const Policy& policy);                                      // hex; of its canonical form
bool is_weakened(const Policy& policy, const std::string& danger);                  // it is accepted, and there is use for it
Event connection_of(const Sandbox& sandbox, const Value& entry);                    // from an entry of the network log

}  // namespace paddock::manager
