// What passes between a client and a server behind the gateway while a call is under way: what a
// server may ask and tell by the policy, with its secrets taken out. Its requestState passes as it
// is: mcp/server seals it for the client, the request and everything in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mcp/service.h"
#include "policy/tools/tool.h"
#include "redact/redact.h"

namespace paddock::tools {

// What is the same for all calls to one server.
struct ForwardRules {
  policy::McpServer server;
  std::shared_ptr<const redact::Rules> redaction;  // its secrets, and what looks like one
};

// Why a server must not ask this of a client: "mcp.servers.files.sampling does not allow it";
// empty: it may.
std::string ask_problem(const policy::McpServer& server, const std::string& method);
// The same request with the server's name in it: the user sees Paddock as the one who asks.
Value ask_in_its_name(const ForwardRules& rules, const std::string& method, const Value& params);
// Capabilities as a server is told: what the policy lets it ask.
Value client_capabilities(const policy::McpServer& server);

// The context of a call as a server behind the gateway gets it. Its logs carry the server's name,
// its questions pass the policy.
std::shared_ptr<mcp::Context> forward_context(std::shared_ptr<mcp::Context> client,
                                              std::shared_ptr<const ForwardRules> rules);

Value with_member(const Value& object, const std::string& key, Value value);  // replaced or added
Value without_members(const Value& object, const std::vector<std::string>& keys);

}  // namespace paddock::tools
