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
  Provider* provider = nullptr;  // null: the policy lists it, and no provider has it
  ToolInfo info;                 // as the provider describes it
  ToolInfo shown;                // with what the policy says about it
  // Null: a server's tool, which its entry in [mcp.servers] lists.
  const policy::Tool* rules = nullptr;
  const policy::McpServer* server = nullptr;

  struct Schemas {
    std::optional<schema::Schema> input;
    std::vector<schema::Schema> outputs;  // the provider's and the policy's
    std::string broken;                   // why they cannot be checked: then it is not called
  };
  const Schemas& schemas() const;  // compiled when they are first needed

 private:
  mutable std::optional<Schemas> schemas_;
};
bool is_same(const ToolInfo& a, const ToolInfo& b);

struct DeskCall {
  std::string id;                        // also its span
  Cause cause, from;                     // of this call, and of what it follows from
  std::shared_ptr<const DeskTool> tool;  // null: there is no tool of that name
  std::string name;                      // as it was asked for
  Value arguments;
  Value answers;  // what the client brings for the tool's questions; null: nothing
  std::shared_ptr<const CallerPrincipal> caller;
  std::string agent;
  std::string hash;  // tools/decide/call_hash.h
  bool dry_run = false;
  bool is_too_large = false;  // its arguments were dropped; it is refused
  RuleList redaction;
  int64_t began_us = 0;
  std::optional<Approval> approval;  // that it is made with
  int continued = 0;                 // how often the tool has asked its client under it

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
  Value state;  // that the retry brings: the tool's own, or null
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
  std::vector<Fd> shared_;  // counted for all processes
};

}  // namespace paddock::tools
