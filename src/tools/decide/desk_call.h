// One call on its way through the desk, and the tool it is for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/tools/tool.h"
#include "schema/schema.h"
#include "tools/decide/approvals.h"
#include "tools/decide/output.h"
#include "tools/provider.h"

namespace paddock::tools {

class Desk;

// A tool as the desk knows it.
struct DeskTool {
  // Null if the policy lists the tool and no provider has it.
  Provider* provider = nullptr;
  // As the provider describes it.
  ToolInfo info;
  // With what the policy says about it.
  ToolInfo shown;
  // Null: a server's tool, which its entry in [mcp.servers] lists.
  const policy::Tool* rules = nullptr;
  const policy::McpServer* server = nullptr;

  struct Schemas {
    std::optional<schema::Schema> input;
    // The provider's and the policy's; a result must keep to both.
    std::vector<schema::Schema> outputs;
    // Why they cannot be checked. Then the tool is not called.
    std::string broken;
  };
  // Compiled when they are first needed.
  const Schemas& schemas() const;

 private:
  mutable std::optional<Schemas> schemas_;
};

// Says whether calls that were judged for the one may be made with the other.
bool is_same(const ToolInfo& a, const ToolInfo& b);

// Everything that the steps of Desk::call() know of one call, and add to.
struct DeskCall {
  // It is also the id of its span.
  std::string id;
  // Of this call, and of what it follows from.
  Cause cause, from;
  // Null if there is no tool of that name.
  std::shared_ptr<const DeskTool> tool;
  // As it was asked for, which may be anything.
  std::string name;
  Value arguments;
  // What the client brings for the tool's questions. Null: nothing.
  Value answers;
  std::shared_ptr<const CallerPrincipal> caller;
  std::string agent;
  std::string hash;  // tools/decide/call_hash.h
  bool dry_run = false;
  // The arguments were dropped, and the call is refused.
  bool is_too_large = false;
  RuleList redaction;
  int64_t began_us = 0;
  // The approval that the call is made with.
  std::optional<Approval> approval;
  // How often the tool has asked its client under this approval.
  int continued = 0;

  // The key of the policy that says so: "tools.send_email.rate".
  std::string rule(std::string_view key) const;
  // Null: nobody has to approve it.
  const policy::Ask* ask() const {
    return tool->rules && tool->rules->ask ? &*tool->rules->ask : nullptr;
  }
};

// The approval of a call whose tool has asked its client for something: the client's retry goes on
// under it.
struct Continued {
  Approval approval;
  // What the retry must bring: the tool's own state, or null.
  Value state;
  int rounds = 0;
  io::Milliseconds until = 0;
};

// The tool's answer, and what the record says of it: "ok", "error", "timeout", "cancelled",
// "refused", "input_required" or "nobody".
struct Made {
  mcp::Answer answer;
  std::string outcome;
};
// What the schemas and the policy's rules say about the arguments.
policy::Decision judge_arguments(const DeskCall& call);
// Compares the tool's answer with the output schemas.
void check_output(const DeskCall& call, Made& made);

// What the record says about the end of a call.
struct CallEnd {
  std::string outcome;
  uint64_t bytes = 0;
  Cut cut;
  redact::Counts redactions;
};

// One of the calls that may be made at once. Freed when the tool has really ended, also when nobody
// waits for it any more.
class CallSlot {
 public:
  CallSlot(std::shared_ptr<Desk> desk, std::string tool, std::vector<Fd> shared);
  CallSlot(CallSlot&& other) noexcept = default;
  CallSlot& operator=(CallSlot&&) = delete;
  ~CallSlot();

 private:
  std::shared_ptr<Desk> desk_;
  std::string tool_;
  // The locks that count it for all processes.
  std::vector<Fd> shared_;
};

}  // namespace paddock::tools
