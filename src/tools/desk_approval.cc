// Somebody has to agree. All ways to say so end in the same file of tools/approvals.h; the first word counts.
#include <algorithm>

#include "base/text.h"
#include "tools/call_hash.h"
#include "tools/desk_state.h"
#include "tools/webhook.h"

namespace paddock::tools {

namespace {

using io::Milliseconds;
using io::Task;
using policy::Decision;

constexpr size_t kLargestArguments = 64 << 10;  // that a person is asked about
constexpr size_t kLongestQuestion = 8 << 10;    // in a form of the client; longer ones are for `paddock approve` alone
constexpr uint64_t kMostWaiting = 64;           // calls of one agent in this process, the same ones too
constexpr int kMostRounds = 100;

// ---- by the MCP client's user ---------------------------------------------------------------------------------------

bool can_show_forms(const mcp::Client& client) {
  return client.can("elicitation") && (client.can("elicitation.form") || !client.can("elicitation.url"));
}

Value question(const Approval& approval, const std::string& text) {
  Value approve = Value::Object{{"type", "boolean"}, {"title", "Approve this call"}, {"description", "Only this very call, with these arguments"}, {"default", false}};
  Value schema = Value::Object{{"type", "object"}, {"properties", Value::Object{{"approve", std::move(approve)}}}, {"required", Value::Array{"approve"}}};
  return Value::Object{{"message", cat("May the tool '", printable(approval.tool), "' be called with these arguments?\n", text, "\n(approval ", approval.id, ")")}, {"requestedSchema", std::move(schema)}};
}

Task<void> ask_user(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context, Approval approval) {
  std::string text = printable(to_json(approval.arguments));
  if (text.size() > kLongestQuestion) co_return;
  std::string method = "elicitation/create";
  Value params = question(approval, text);
  Result<Value> said = co_await context->ask(method, params);
  if (!said) co_return;  // they cannot be asked, or are gone: somebody else may still decide
  const Value* action = said.value().find("action");
  const Value* content = said.value().find("content");
  const Value* approve = content && content->as_object() ? content->find("approve") : nullptr;
  bool accepts = action && action->as_string() && *action->as_string() == "accept";
  bool approves = accepts && approve && approve->as_bool() && *approve->as_bool();
  (void)desk->approvals->decide(approval.id, approves, "the user of the MCP client", "");  // the first word counts
}

// ---- by a webhook ---------------------------------------------------------------------------------------------------

Task<void> ask_webhook(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context, policy::Ask ask, Approval approval) {
  WebhookWord word = co_await tell_webhook(desk->loop, ask, approval);
  if (word.decided) (void)desk->approvals->decide(approval.id, word.approve, "the webhook", word.why);
  if (!word.failed.empty()) context->log("warning", "paddock", Value(cat("the webhook of '", printable(approval.tool), "' was not reached: ", word.failed)));
}

// ---- by anybody -----------------------------------------------------------------------------------------------------

void tell_people(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context, const policy::Ask& ask, const Approval& approval) {
  context->log("notice", "paddock", Value(cat("'", printable(approval.tool), "' waits for approval: paddock approve ", approval.id)));
  if (context->wants_progress()) context->progress(0, std::nullopt, cat("waits for approval ", approval.id));
  if (!desk->told.insert(approval.id).second) return;  // another call that is the same waits already
  if (ask.elicit && can_show_forms(context->client)) io::spawn(ask_user(desk, context, approval));
  if (!ask.webhook.empty()) io::spawn(ask_webhook(desk, context, ask, approval));
}

struct Waiting {
  Desk::State& desk;
  std::string agent;
  Waiting(Desk::State& in, std::string who) : desk(in), agent(std::move(who)) { ++desk.waiting[agent]; }
  Waiting(const Waiting&) = delete;
  ~Waiting() {
    if (--desk.waiting[agent] == 0) desk.waiting.erase(agent);
  }
};

}  // namespace

Task<Decision> get_approval(std::shared_ptr<Desk::State> desk, DeskCall& call, std::shared_ptr<mcp::Context> context) {
  const policy::Ask& ask = *ask_of(call);
  const std::string rule = cat("tools.", printable(call.name), ".ask");
  Approval wanted;
  wanted.tool = call.name;
  wanted.agent = call.agent;
  wanted.arguments = redact_all(call.arguments, call.redaction);
  wanted.hash = call_hash({call.name, call.agent, desk->policy->hash_of(call.name, call.tool->info.server)}, call.arguments);
  wanted.remember_ms = ask.remember_ms;
  if (to_json(call.arguments).size() > kLargestArguments)
    co_return denial(rule, cat("its arguments are too long for somebody to read and approve (", human_size(kLargestArguments), " at most)"), "call it with less");
  if (desk->waiting.count(call.agent) && desk->waiting[call.agent] >= kMostWaiting)
    co_return denial(rule, cat(kMostWaiting, " calls wait for approval already"), "wait until they are decided");
  Waiting waits(*desk, call.agent);
  Milliseconds deadline = desk->loop.now() + ask.timeout_ms;
  for (int round = 0; round < kMostRounds; ++round) {
    Result<std::optional<Approval>> used = desk->approvals->use(wanted.hash);
    if (!used) co_return denial(rule, cat("it cannot be known whether it was approved: ", used.error().message), used.error().hint);
    call.approval = std::move(used.value());
    if (call.approval) co_return Decision{.kind = Decision::Kind::allow};
    if (desk->loop.now() >= deadline) break;
    wanted.expires_ms = wanted.asked_ms + deadline - desk->loop.now();
    Result<Approval> asked = desk->approvals->ask(wanted);
    if (!asked) co_return denial(rule, cat("it must be approved: ", asked.error().message), asked.error().hint);
    std::string id = asked.value().id;
    if (asked.value().state == Approval::State::waiting) {
      if (!desk->told.count(id)) desk->note_asked(call, asked.value());
      tell_people(desk, context, ask, asked.value());
    }
    std::function<bool()> given_up = [context] { return context->is_cancelled(); };
    Result<Approval> said = co_await desk->approvals->wait(desk->loop, id, given_up);
    desk->told.erase(id);
    if (!said && said.error().code == Code::not_found) continue;  // used by another call, or withdrawn with it
    if (!said) co_return denial(rule, said.error().message, said.error().hint);
    if (said.value().state == Approval::State::denied)
      co_return denial(rule, cat("it was not approved, ", printable(said.value().why)), "do something else, or ask the user; the same call is not asked about again for a while");
    if (said.value().state == Approval::State::expired) break;
  }
  co_return denial(rule, cat("nobody approved it within ", in_words(ask.timeout_ms)), "ask the user, then call again");
}

}  // namespace paddock::tools
