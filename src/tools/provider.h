// The providers of tools: Paddock itself (tools/builtin/), commands of the policy
// (tools/command_tools.h) and other MCP servers (tools/gateway/gateway.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "base/value_edit.h"
#include "io/loop.h"
#include "manager/manager.h"
#include "mcp/service.h"
#include "policy/tools/tool.h"
#include "redact/redact.h"

namespace paddock::tools {

class CallContext;  // tools/call_context.h

// The caller behind an MCP principal. Rates "per agent" count by `agent_id`, which is the key that
// was shown, or the tenant. What a client calls itself is not an identity.
struct CallerPrincipal : mcp::Principal {
  manager::Caller caller;
  std::string agent_id() const {
    return caller.key.empty() ? "tenant " + caller.tenant : "key " + caller.key;
  }
};

// A tool as it is offered.
struct ToolInfo {
  // As it is called here.
  std::string name;
  std::string title, description;
  // Always an object.
  Value input_schema;
  // Null where absent.
  Value output_schema, annotations;
  // Further members of an MCP tool (icons, _meta, execution); null or an object.
  Value extra;
  // For tools of the gateway: which server has it, and its name there.
  std::string server, bare_name;
  // A hash of its whole definition: what was judged is what is called. Empty: it cannot change.
  std::string definition;
};

// A tool as MCP's tools/list has it.
inline constexpr auto kToolFields = std::make_tuple(
    field("name", &ToolInfo::name), field("title", &ToolInfo::title, Presence::sparse),
    field("description", &ToolInfo::description, Presence::sparse),
    field("inputSchema", &ToolInfo::input_schema),
    field("outputSchema", &ToolInfo::output_schema, Presence::sparse),
    field("annotations", &ToolInfo::annotations, Presence::sparse));
Value to_value(const ToolInfo& tool);
// A tool that the policy describes.
ToolInfo tool_info_of(const policy::Tool& tool);

struct ToolCall {
  // Valid until the provider says that its tools changed: copy what is needed later.
  const ToolInfo* tool = nullptr;
  // Always an object, which has been judged.
  Value arguments;
  std::shared_ptr<const CallerPrincipal> caller;
  // The span of this call.
  Cause cause;
};

// Why a provider does not offer a tool that it has: its definition has changed since it was pinned.
struct Withheld {
  // As in a denial. Without a rule the provider knows no such tool.
  std::string rule, why, hint;
};

class Provider {
 public:
  virtual ~Provider() = default;
  // In a stable order.
  virtual const std::vector<ToolInfo>& tools() const = 0;
  // The result is MCP's CallToolResult: {"content":[…],"structuredContent":…,"isError":…}. The call
  // is cancelled by its context, also when its time is over.
  virtual io::Task<mcp::Answer> call(ToolCall call, std::shared_ptr<CallContext> context) = 0;
  virtual Withheld withheld(std::string_view name) const {
    (void)name;
    return {};
  }
  // Secrets that must not come back, besides what looks like a secret. Null: none.
  virtual std::shared_ptr<const redact::Rules> redaction(const ToolCall& call) const {
    (void)call;
    return nullptr;
  }

  // Set by the desk; called after tools() has changed.
  std::function<void()> on_tools_changed;
};

// {"content":[{"type":"text","text"}]}, and the same with "isError":true.
Value text_result(const std::string& text);
Value error_result(const std::string& text);

}  // namespace paddock::tools
