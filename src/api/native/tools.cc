// Native API: tools, called without MCP, and the calls that wait for somebody's decision.
#include <algorithm>

#include "api/http/all_routes.h"
#include "api/http/server.h"
#include "api/native/describe.h"
#include "base/text.h"
#include "store/state.h"
#include "tools/direct.h"
#include "tools/toolbox.h"

namespace paddock::api {

Result<tools::Toolbox*> Server::toolbox() {
  if (toolbox_) return toolbox_.get();
  tools::ToolboxOptions options;
  options.policy = TRY(manager_->policies().operators());
  options.state_directory = TRY(store::state_directory());
  options.manager = manager_;
  options.events = &manager_->events();
  toolbox_ = TRY(tools::Toolbox::create(loop_, std::move(options)));
  return toolbox_.get();
}

namespace {

using io::Task;
using policy::Decision;

constexpr size_t kMostBody = 4 << 20;

Task<Result<Reply>> list(Call& call) {
  CO_TRY(tools::Toolbox * toolbox, call.server.toolbox());
  co_await toolbox->start();
  Value value = Value::Object{{"tools", toolbox->describe_tools()}};
  if (call.caller.may("admin")) value.set("servers", toolbox->gateway().describe());
  co_return Reply::json(200, value);
}

// The body of POST /v1/tools/{name}/call.
Result<tools::Desk::Request> read_request(const Call& call, const Value& body) {
  Fields fields(body);
  tools::Desk::Request request;
  request.tool = call.parts.at("name");
  if (const Value* arguments = fields.any("arguments")) request.arguments = *arguments;
  request.dry_run = fields.flag("dry_run").value_or(false);
  TRY(fields.done());
  if (!request.arguments.is_null() && !request.arguments.as_object())
    return Error{Code::invalid, "arguments: an object is needed", ""};
  return request;
}

// A dry run is answered with 200 and the decision; a call that was not made has another status.
int status_of(const tools::Called& called, bool only_judged) {
  if (only_judged) return 200;
  const Decision& decision = called.decision;
  if (decision.kind == Decision::Kind::allow) return called.answer.problem ? 502 : 200;
  if (decision.rule == "tools") return 404;
  if (decision.rule == "audit") return 503;  // it could not be recorded, so it was not done
  return decision.retry_after_ms > 0 || ends_with(decision.rule, ".at_once") ? 429 : 403;
}

// The decision and the tool's answer; errors have the members of an error as well.
Reply reply_of(const tools::Called& called, bool only_judged) {
  int status = status_of(called, only_judged);
  Value value;
  if (status != 200) {
    std::string denial = tools::denial_of(called);
    value.set("code", status);
    value.set("message",
              denial.empty() && called.answer.problem ? called.answer.problem->message : denial);
    value.set("error", status == 404   ? "not_found"
                       : status == 429 ? "exhausted"
                       : status == 403 ? "denied"
                                       : "io");
    value.set("hint", called.decision.hint);
  }
  for (Value told = tools::to_value(called); auto& [key, member] : *told.as_object())
    value.set(key, std::move(member));
  Reply reply = Reply::json(status, value);
  if (status != 429) return reply;
  int64_t seconds = (called.decision.retry_after_ms + 999) / 1000;
  return std::move(reply).with("Retry-After", to_text(std::max<int64_t>(1, seconds)));
}

// Ends when the client goes or the server does.
Task<Result<Reply>> call_tool(Call& call) {
  CO_TRY(Value body, co_await call.exchange.read_json(kMostBody));
  CO_TRY(tools::Desk::Request request, read_request(call, body));
  CO_TRY(tools::Toolbox * toolbox, call.server.toolbox());
  co_await toolbox->start_for(request.tool);
  request.caller = tools::make_principal(call.caller);
  bool only_judged = request.dry_run;
  std::shared_ptr<mcp::DirectContext> context = tools::direct_context(request.caller);
  call.exchange.on_client_gone([context] { context->cancel(); });
  std::shared_ptr<void> draining = call.server.on_drain([context] { context->cancel(); });
  tools::Called called = co_await toolbox->desk().call(std::move(request), context);
  co_return reply_of(called, only_judged);
}

Task<Result<Reply>> list_approvals(Call& call) {
  CO_TRY(tools::Toolbox * toolbox, call.server.toolbox());
  CO_TRY(std::vector<tools::Approval> found, toolbox->desk().approvals().list());
  co_return list_reply("approvals", found,
                       [](const auto& approval) { return tools::to_value(approval); });
}

// The caller that made a call cannot approve it. This does not stop an administrator, who can make
// another key.
Result<void> check_approver(const manager::Caller& caller, const tools::Approval& approval) {
  if (tools::make_principal(caller)->agent_id() == approval.agent)
    return Error{Code::denied,
                 caller.key.empty() ? "approve: the call was made without a key, as this is"
                                    : "approve: this key made the call itself",
                 "another caller has to: a key with the scope 'admin', or paddock approve"};
  return {};
}

Task<Result<Reply>> decide_approval(Call& call) {
  CO_TRY(Fields fields, co_await call.fields());
  std::optional<bool> approve = fields.flag("approve");
  std::string why = fields.text("why").value_or("");
  CO_TRY_VOID(fields.done());
  if (!approve) co_return Error{Code::invalid, "approve: true or false is needed", ""};
  CO_TRY(tools::Toolbox * toolbox, call.server.toolbox());
  tools::Approvals& approvals = toolbox->desk().approvals();
  std::string id = call.id();
  CO_TRY(tools::Approval approval, approvals.find(id));
  if (*approve) CO_TRY_VOID(check_approver(call.caller, approval));
  Value data =
      Value::Object{{"id", id}, {"tool", approval.tool}, {"approve", *approve}, {"why", why}};
  CO_TRY_VOID(co_await record_act(call, "approval.decide", data));
  std::string by = call.caller.key.empty() ? "the server's owner" : cat("key ", call.caller.key);
  CO_TRY_VOID(approvals.decide(id, *approve, by, why));
  co_return Reply::empty(204);
}

}  // namespace

std::vector<Route> tool_routes() {
  return {
      {"GET", "/v1/tools", "read", list, "the tools that the policy allows, and who has them", "",
       "", "Tools"},
      {"POST", "/v1/tools/{name}/call", "sandboxes", call_tool, "call one, or only judge the call",
       "", "CallTool", "ToolCalled"},
      {"GET", "/v1/approvals", "admin", list_approvals,
       "calls that wait for somebody's decision, and what was decided lately", "", "", "Approvals"},
      {"POST", "/v1/approvals/{id}", "admin", decide_approval, "agree to one, or not", "",
       "DecideApproval"},
  };
}

}  // namespace paddock::api
