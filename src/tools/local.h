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
  std::vector<std::string> policies;  // presets or files, combined by intersection
  std::string agent, traceparent;     // for the record
  std::string only;                   // as ToolboxOptions has it
  std::function<void(std::string server, std::string line)> on_line;
};

class LocalTools {
 public:
  static Result<std::unique_ptr<LocalTools>> open(io::Loop& loop, LocalOptions options);

  // One call's; what it may be cancelled by.
  std::shared_ptr<mcp::DirectContext> new_context() const;
  io::Task<Called> call(std::string tool, Value arguments, bool dry_run,
                        std::shared_ptr<mcp::DirectContext> context);
  Toolbox& toolbox() { return *toolbox_; }
  io::Task<void> close();  // ends the servers, and sends the traces that wait

 private:
  LocalTools() = default;
  manager::Caller caller_;
  std::unique_ptr<record::Events> events_;  // null: the policy accepts that there is no record
  std::unique_ptr<Toolbox> toolbox_;
};

}  // namespace paddock::tools
