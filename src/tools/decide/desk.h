// The one place that every tool call passes, whichever way it came (MCP, REST, command line,
// library) and whoever has the tool: allowlist → schemas → rules → room (rates, at_once) → approval
// → record → call → redaction → limits of the output → record. desk_call.cc reads like that.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "policy/tools/tool.h"
#include "record/events.h"
#include "tools/decide/approvals.h"
#include "tools/decide/rates.h"
#include "tools/provider.h"

namespace paddock::tools {

struct DeskOptions {
  Policy policy;  // combined
  // Its tools/ holds rates, approvals and pins, shared by all Paddock processes of this user.
  std::string state_directory;
  record::Events* events = nullptr;  // where calls are recorded; null: nowhere (tests)
};

// What came of a call, and why.
struct Called {
  policy::Decision decision;
  // Of a denial: an error result that tells the model which rule, why, and what to do.
  mcp::Answer answer;
  std::string id;        // of the call: for explain_denial and the records
  bool dry_run = false;  // it was judged, not made
};

class Desk {
 public:
  static Result<std::unique_ptr<Desk>> open(io::Loop& loop, DeskOptions options);
  ~Desk();

  // Both live as long as calls are under way. Two providers with a tool of one name:
  // Code::conflict, and the second one's is not offered.
  Result<void> add(Provider& provider);
  // What the policy allows, by name; with the policy's schema where it has one.
  std::vector<ToolInfo> list() const;
  const ToolInfo* find(std::string_view name) const;

  struct Request {
    std::string tool;
    Value arguments;  // null: {}
    std::shared_ptr<const CallerPrincipal> caller;
    // Judge only: takes nothing from rates, asks nobody, leaves a record.
    bool dry_run = false;
  };
  io::Task<Called> call(Request request, std::shared_ptr<mcp::Context> context);

  // What servers behind the gateway have besides tools (prompts/get, resources/read,
  // completion/complete): counted against [calls] and recorded like a call, with the method as its
  // tool; then served.
  using Serve = std::function<io::Task<mcp::Answer>(std::shared_ptr<mcp::Context>)>;
  io::Task<mcp::Answer> pass(std::shared_ptr<mcp::Context> context, Serve serve);

  // Why a call was denied, as explain_denial tells it: of the caller's own calls of late. Null
  // value: not known.
  Value explain(const CallerPrincipal& caller, const std::string& id) const;

  Approvals& approvals();
  const policy::Tools& tools() const;
  std::function<void()> on_tools_changed;

  struct State;  // desk_state.h

 private:
  explicit Desk(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace paddock::tools
