// All tools of one process put together: the desk, the providers behind it, and the service that
// MCP clients see.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "manager/manager.h"
#include "mcp/service.h"
#include "tools/builtin/builtin_tools.h"
#include "tools/decide/desk.h"
#include "tools/gateway/gateway.h"

namespace paddock::tools {

struct ToolboxOptions {
  Policy policy;  // combined
  // Holds what is shared: rates, approvals and pins.
  std::string state_directory;
  // How the built-in tools reach living sandboxes: see BuiltinOptions.
  manager::Manager* manager = nullptr;
  StartManager start_manager;
  record::Events* events = nullptr;
  manager::CreateOptions sandbox;
  // Servers that cannot have this tool are left out; empty: none are.
  std::string only;
  // Lines that the servers behind the gateway print on stderr. Without a server: Paddock's own.
  std::function<void(std::string server, std::string line)> on_line;
};

class Toolbox : public mcp::Service {
 public:
  static Result<std::unique_ptr<Toolbox>> create(io::Loop& loop, ToolboxOptions options);
  ~Toolbox() override;

  mcp::Offer offer(const mcp::Principal& principal) override;
  io::Task<mcp::Answer> call(std::shared_ptr<mcp::Context> context) override;
  void watch_resource(const std::string& uri, bool wanted) override;
  void roots_changed(const mcp::Principal& principal) override;

  // Starts the servers behind the gateway. May be called again: all callers wait for the one start.
  // call() does it by itself.
  io::Task<void> start() override;
  // The same, unless no server behind the gateway can have this tool.
  io::Task<void> start_for(std::string tool);
  io::Task<void> stop();
  Desk& desk() { return *desk_; }
  Gateway& gateway() { return *gateway_; }
  // For people: every tool that the policy lists, as tools/list has it, and "provider": "paddock",
  // "command", "server NAME", or "nobody".
  Value describe_tools() const;

 private:
  explicit Toolbox(io::Loop& loop) : loop_(loop) {}
  Result<void> open(ToolboxOptions options);
  io::Task<mcp::Answer> call_tool(std::shared_ptr<mcp::Context> context);
  mcp::Answer list_tools(const Value& params) const;
  bool offers_builtin() const;
  std::string provider_of(const ToolInfo& tool) const;

  io::Loop& loop_;
  std::shared_ptr<Desk> desk_;
  std::unique_ptr<Provider> commands_;
  std::unique_ptr<BuiltinTools> builtin_;
  std::shared_ptr<Gateway> gateway_;
  bool starting_ = false;
  io::Event started_{loop_};
};

}  // namespace paddock::tools
