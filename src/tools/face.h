// What an MCP client sees of the tools: what is offered, tools/list and tools/call.
#pragma once

#include "mcp/service.h"
#include "tools/decide/desk.h"
#include "tools/gateway/gateway.h"

namespace paddock::tools {

struct FaceOptions {
  std::string instructions;  // of our own tools; may be empty
  const Gateway* gateway = nullptr;
};
mcp::Offer make_offer(const FaceOptions& options);

mcp::Answer list_tools(const Desk& desk, const Value& params);
// Through the desk, or the problem that the params have.
io::Task<mcp::Answer> call_tool(Desk& desk, std::shared_ptr<mcp::Context> context);

}  // namespace paddock::tools
