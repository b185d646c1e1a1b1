// Native API: tools, called without MCP, and the calls that wait for somebody's word.
#include <algorithm>

#include "api/all_routes.h"
#include "api/server.h"
#include "base/fields.h"
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

Task<void> list(Call& call) {
  Result<tools::Toolbox*> toolbox = call.server.toolbox();
  if (!toolbox) {
    co_await answer_error(call, toolbox.error());
    co_return;
  }
  co_await toolbox.value()->start();
  Value value;
  value.set("tools", toolbox.value()->describe_tools());
  if (call.caller.may("admin")) value.set("servers", toolbox.value()->gateway().describe());
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

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

// Who asked what would happen is told; who wanted it to happen sees by the status that it did not.
int status_of(const tools::Called& called, bool only_judged) {
  if (only_judged) return 200;
  const Decision& decision = called.decision;
  if (decision.kind == Decision::Kind::allow) return called.answer.problem ? 502 : 200;
  if (decision.rule == "tools") return 404;
  if (decision.rule == "audit") return 503;  // it could not be recorded, so it was not done
  return decision.retry_after_ms > 0 || ends_with(decision.rule, ".at_once") ? 429 : 403;
}

Task<void> answer(Call& call, const tools::Called& called, bool only_judged) {
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
  Headers headers{{"Content-Type", "application/json"}};
  if (status == 429)
    headers.push_back({"Retry-After", to_text(std::max<int64_t>(
                                          1, (called.decision.retry_after_ms + 999) / 1000))});
  std::string text = to_json(value);
  (void)co_await call.exchange.answer(status, std::move(headers), std::move(text));
}

Task<void> call_tool(Call& call) {
  Result<Value> body = co_await call.exchange.read_json(kMostBody);
  Result<tools::Desk::Request> request =
      body ? read_request(call, body.value()) : Result<tools::Desk::Request>(body.error());
  Result<tools::Toolbox*> toolbox = call.server.toolbox();
  if (!request || !toolbox) {
    Error error = request ? toolbox.error() : request.error();
    co_await answer_error(call, error);
    co_return;
  }
  co_await toolbox.value()->start_for(request.value().tool);
  request.value().caller = tools::make_principal(call.caller);
  bool only_judged = request.value().dry_run;
  auto context = std::make_shared<tools::DirectContext>(request.value().caller);
  call.exchange.on_client_gone([context] { context->cancel(); });
  std::shared_ptr<void> draining = call.server.on_drain([context] { context->cancel(); });
  tools::Called called = co_await toolbox.value()->desk().call(std::move(request.value()), context);
  co_await answer(call, called, only_judged);
}

Task<void> list_approvals(Call& call) {
  Result<tools::Toolbox*> toolbox = call.server.toolbox();
  Result<std::vector<tools::Approval>> found = Error{};
  if (toolbox)
    found = toolbox.value()->desk().approvals().list();
  else
    found = toolbox.error();
  if (!found) {
    co_await answer_error(call, found.error());
    co_return;
  }
  Value::Array items;
  for (const tools::Approval& approval : found.value()) items.push_back(tools::to_value(approval));
  Value value;
  value.set("approvals", std::move(items));
  (void)co_await call.exchange.answer_json(200, std::move(value));
}

struct Word {
  bool approve = false;
  std::string why;
};

Result<Word> read_word(const Value& body) {
  Fields fields(body);
  std::optional<bool> approve = fields.flag("approve");
  Word word{.why = fields.text("why").value_or("")};
  TRY(fields.done());
  if (!approve) return Error{Code::invalid, "approve: true or false is needed", ""};
  word.approve = *approve;
  return word;
}

// Whoever made the call cannot agree to it as the same caller. That holds no administrator back,
// who can make another key.
Result<void> check_approver(const manager::Caller& caller, const tools::Approval& approval) {
  if (tools::make_principal(caller)->agent_id() == approval.agent)
    return Error{Code::denied,
                 caller.key.empty() ? "approve: the call was made without a key, as this is"
                                    : "approve: this key made the call itself",
                 "somebody else has to: another key with the scope 'admin', or paddock approve"};
  return {};
}

Task<Result<void>> decide(Call& call, Word word) {
  Result<tools::Toolbox*> toolbox = call.server.toolbox();
  if (!toolbox) co_return toolbox.error();
  tools::Approvals& approvals = toolbox.value()->desk().approvals();
  std::string id = call.parts["id"];
  Result<tools::Approval> approval = approvals.find(id);
  if (!approval) co_return approval.error();
  Result<void> allowed;
  if (word.approve) allowed = check_approver(call.caller, approval.value());
  if (!allowed) co_return allowed;
  Value data = Value::Object{
      {"id", id}, {"tool", approval.value().tool}, {"approve", word.approve}, {"why", word.why}};
  Result<void> recorded = co_await record_act(call, "approval.decide", data);
  if (!recorded) co_return recorded;
  std::string by = call.caller.key.empty() ? "the server's owner" : cat("key ", call.caller.key);
  co_return approvals.decide(id, word.approve, by, word.why);
}

Task<void> decide_approval(Call& call) {
  Result<Value> body = co_await call.exchange.read_json();
  Result<Word> word = body ? read_word(body.value()) : Result<Word>(body.error());
  Result<void> decided;
  if (!word)
    decided = word.error();
  else
    decided = co_await decide(call, word.value());
  co_await answer_done(call, std::move(decided));
}

}  // namespace

const std::vector<Route>& tool_routes() {
  static const std::vector<Route> routes = {
      {"GET", "/v1/tools", "read", list, "the tools that the policy allows, and who has them"},
      {"POST", "/v1/tools/{name}/call", "sandboxes", call_tool, "call one, or only judge the call"},
      {"GET", "/v1/approvals", "admin", list_approvals,
       "calls that wait for somebody's word, and what was said of late"},
      {"POST", "/v1/approvals/{id}", "admin", decide_approval, "agree to one, or not"},
  };
  return routes;
}

}  // namespace paddock::api
