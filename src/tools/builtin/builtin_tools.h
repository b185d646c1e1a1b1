// Paddock's own tools: living sandboxes for code, commands and files. docs/mcp.md lists them, and
// presets/tools/ has what clients are told of each.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "manager/manager.h"
#include "tools/provider.h"

namespace paddock::tools {

class Desk;

using StartManager = std::function<io::Task<Result<manager::Manager*>>()>;

struct BuiltinOptions {
  // Where the sandboxes are. Without it and without `start_manager` the tools are known and calls
  // of them are judged, but none can be made (`paddock tool`).
  manager::Manager* manager = nullptr;
  // Starts the manager when it is first needed. Called again some time after it failed.
  StartManager start_manager;
  // Where explain_denial finds recent denials.
  Desk* desk = nullptr;
  // How a caller's default sandbox is made.
  manager::CreateOptions sandbox;
};

namespace builtin {
struct Shared;
}

class BuiltinTools : public Provider {
 public:
  BuiltinTools(io::Loop& loop, BuiltinOptions options);

  const std::vector<ToolInfo>& tools() const override { return tools_; }
  io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<CallContext> context) override;
  std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const override;

  // Starts the manager in the background, so that it is there for the first call.
  void prepare();
  // Whether calls can be made here, now or once the manager has started.
  bool can_call() const;

 private:
  std::shared_ptr<builtin::Shared> shared_;  // outlives this object while a call is under way
  std::vector<ToolInfo> tools_;
};

// Tells a model how to use them.
extern const char* const kBuiltinInstructions;

}  // namespace paddock::tools
