// All tools of one process put together: the desk, what stands behind it, and the face that MCP
// clients see.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "manager/manager.h"
#include "mcp/service.h"
#include "tools/builtin/lazy_tools.h"
#include "tools/decide/desk.h"
#include "tools/gateway/gateway.h"

namespace paddock::tools {

struct ToolboxOptions {
  Policy policy;                // combined
  std::string state_directory;  // of what is shared: rates, approvals, pins
  // null: our own tools are known and judged, but cannot be called (`paddock tool`).
  manager::Manager* manager = nullptr;
  // instead: the manager is started by the first tools/list, or a call that needs it.
  ManagerLater manager_later;
  record::Events* events = nullptr;
  manager::CreateOptions sandbox;
  // Servers that cannot have this tool are left out; empty: none are.
  std::string only;
  // What the servers behind the gateway say on stderr; without a server: what Paddock itself has to
  // tell.
  std::function<void(std::string server, std::string line)> on_line;
};

class Toolbox : public mcp::Service {
 public:
  static Result<std::unique_ptr<Toolbox>> create(io::Loop& loop, ToolboxOptions options);
  // The servers behind the gateway. May be called again: everybody waits for the one start. call()
  // does it by itself.
  virtual io::Task<void> start() = 0;
  // The same, unless nobody behind the gateway can have this tool.
  virtual io::Task<void> start_for(std::string tool) = 0;
  virtual io::Task<void> stop() = 0;
  virtual Desk& desk() = 0;
  virtual Gateway& gateway() = 0;
  // For people: every tool that the policy lists, as tools/list has it, and "provider": "paddock",
  // "command", "server NAME", or "nobody".
  virtual Value describe_tools() const = 0;
};

}  // namespace paddock::tools
