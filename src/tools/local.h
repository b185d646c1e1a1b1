// The tools of a policy for a process that is not a server: the command line and the library.
// Rates, approvals, pins and the audit log are those of all Paddock processes of this user.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "record/events.h"
#include "tools/direct.h"
#include "tools/toolbox.h"

namespace paddock::tools {

struct LocalOptions {
  // Presets or files, combined by intersection.
  std::vector<std::string> policies;
  // For the record.
  std::string agent, traceparent;
  // As in ToolboxOptions.
  std::string only;
  std::function<void(std::string server, std::string line)> on_line;
};

class LocalTools {
 public:
  static Result<std::unique_ptr<LocalTools>> open(io::Loop& loop, LocalOptions options);

  // The context of one call, by which it may be cancelled.
  std::shared_ptr<mcp::DirectContext> new_context() const;
  io::Task<Called> call(std::string tool, Value arguments, bool dry_run,
                        std::shared_ptr<mcp::DirectContext> context);
  Toolbox& toolbox() { return *toolbox_; }
  // Ends the servers, and sends the traces that wait.
  io::Task<void> close();

 private:
  LocalTools() = default;
  manager::Caller caller_;
  // Null if the policy accepts that there is no record.
  std::unique_ptr<record::Events> events_;
  std::unique_ptr<Toolbox> toolbox_;
};

}  // namespace paddock::tools
