// What `paddock mcp` has to offer: the tools of its policies, with sandboxes that end with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/loop.h"
#include "mcp/service.h"
#include "paddock/error.h"

namespace paddock::cli {

struct McpToolsOptions {
  std::vector<std::string> policies, allow_net;
  std::string workspace, agent;
};

class McpTools {
 public:
  static Result<std::unique_ptr<McpTools>> open(io::Loop& loop, McpToolsOptions options);
  ~McpTools();

  mcp::Service& service();
  std::shared_ptr<const mcp::Principal> principal(const std::string& id) const;
  // Ends sandboxes and servers, and removes what was kept of them.
  io::Task<void> close();

 private:
  struct State;
  explicit McpTools(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Waits until whoever has the other end of our stdin is gone, and then ends the sandboxes that it
// left in `directory`.
Result<void> clean_up_after(const std::string& directory);

}  // namespace paddock::cli
