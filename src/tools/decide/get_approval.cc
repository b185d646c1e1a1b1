// Somebody has to approve the call. All ways to do so end in the same file of
// tools/decide/approvals.h, and the first decision counts.
#include <algorithm>

#include "base/text.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

namespace {

using io::Milliseconds;
using io::Task;
using policy::Decision;

// In bytes. Nobody can judge more.
constexpr size_t kLargestArguments = 64 << 10;
// In a form of the client; longer ones are for `paddock approve` alone.
constexpr size_t kLongestQuestion = 8 << 10;
// Calls of one agent in this process, the same ones too.
constexpr uint64_t kMostWaiting = 64;

// Another call may use the approval each time; this ends the race.
constexpr int kMostRounds = 100;
// Times that a tool may ask its client for something in one approved call.
constexpr int kMostContinued = 8;
constexpr size_t kMostRemembered = 1024;

// The number of webhooks that are being told at once.
constexpr uint64_t kMostWebhooks = 32;

// For texts that people read, on a line of its own.
std::string hidden_text(const Approval& approval) {
  std::string text = hidden_words(approval);
  return text.empty() ? "" : cat("\n(", text, ")");
}

// A client that names no mode of elicitation shows forms.
bool can_show_forms(const mcp::Client& client) {
  return client.can("elicitation") &&
         (client.can("elicitation.form") || !client.can("elicitation.url"));
}

// The form that the client shows: the arguments, and one box to tick.
Value question(const Approval& approval, const std::string& text) {
  Value approve = Value::Object{{"type", "boolean"},
                                {"title", "Approve this call"},
                                {"description", "Only this very call, with these arguments"},
                                {"default", false}};
  Value schema = Value::Object{{"type", "object"},
                               {"properties", Value::Object{{"approve", std::move(approve)}}},
                               {"required", Value::Array{"approve"}}};
  return Value::Object{{"message", cat("May the tool '", printable(approval.tool),
                                       "' be called with these arguments?\n", text,
                                       hidden_text(approval), "\n(approval ", approval.id, ")")},
                       {"requestedSchema", std::move(schema)}};
}

// {"parts","kinds","bytes"}: approvers should know how much of the arguments they do not see.
Value hidden_value(const redact::Counts& hidden, size_t bytes) {
  if (redact::total(hidden) == 0) return {};
  Value kinds{Value::Object{}};
  for (const auto& [kind, times] : hidden) kinds.set(kind, times);
  return Value::Object{
      {"parts", redact::total(hidden)}, {"kinds", std::move(kinds)}, {"bytes", bytes}};
}

// With secrets taken out of the arguments: they are written to a file and shown to people.
Approval approval_for(const DeskCall& call) {
  Approval wanted;
  wanted.tool = call.name;
  wanted.agent = call.agent;
  wanted.hash = call.hash;
  wanted.remember_ms = call.ask()->remember_ms;
  redact::Counts hidden;
  wanted.arguments = redact_all(call.arguments, call.redaction, &hidden);
  wanted.hidden = hidden_value(hidden, to_json(call.arguments).size());
  return wanted;
}

// The state that a client's retry brings back, sealed by mcp/. Null: this is not a retry.
const Value* state_of_retry(const mcp::Context& context) {
  return context.params.as_object() ? context.params.find("requestState") : nullptr;
}

// Counts something that is under way, for as long as this lives.
class CountedWhile {
 public:
  explicit CountedWhile(uint64_t& count) : count_(count) { ++count_; }
  CountedWhile(const CountedWhile&) = delete;
  ~CountedWhile() { --count_; }

 private:
  uint64_t& count_;
};

}  // namespace

// Runs beside the wait for the approval, which somebody else may decide first.
Task<void> Desk::ask_user(std::shared_ptr<mcp::Context> context, Approval approval) {
  std::shared_ptr<Desk> self = shared_from_this();
  std::string text = printable(to_json(approval.arguments));
  if (text.size() > kLongestQuestion) co_return;
  std::string method = "elicitation/create";
  Value params = question(approval, text);
  Result<Value> said = co_await context->ask(method, params);
  if (!said) co_return;  // they cannot be asked, or are gone: somebody else may still decide
  const Value* content = said.value().find("content");
  bool approves =
      text_in(said.value(), "action") == "accept" && content && flag_in(*content, "approve");
  (void)approvals_->decide(approval.id, approves, "the user of the MCP client", "");
}

// Runs beside the wait too, and is stopped when the approval is decided.
Task<void> Desk::ask_webhook(std::shared_ptr<mcp::Context> context, policy::Ask ask,
                             Approval approval, std::shared_ptr<WebhookStop> stop) {
  std::shared_ptr<Desk> self = shared_from_this();
  CountedWhile counted(webhooks_);
  WebhookDecision decision = co_await tell_webhook(loop_, ask, approval, stop);
  if (stop->is_stopped) co_return;
  if (decision.decided)
    (void)approvals_->decide(approval.id, decision.approve, "the webhook", decision.why);
  if (!decision.failed.empty())
    context->log("warning", "paddock",
                 Value(cat("the webhook of '", printable(approval.tool),
                           "' was not reached: ", decision.failed)));
}

// By the log and the progress of the call, and where the policy says so by a form and a webhook.
void Desk::tell_people(const DeskCall& call, std::shared_ptr<mcp::Context> context,
                       const Approval& approval, std::shared_ptr<WebhookStop> stop) {
  const policy::Ask& ask = *call.ask();
  context->log("notice", "paddock",
               Value(cat("'", printable(approval.tool), "' waits for approval: paddock approve ",
                         approval.id)));
  if (context->wants_progress())
    context->progress(0, std::nullopt, cat("waits for approval ", approval.id));
  // Another call that is the same may wait already.
  if (!asked_about_.insert(approval.id).second) return;
  if (ask.elicit && can_show_forms(context->client)) io::spawn(ask_user(context, approval));
  if (ask.webhook.empty()) return;
  if (webhooks_ < kMostWebhooks)
    io::spawn(ask_webhook(context, ask, approval, std::move(stop)));
  else
    context->log("warning", "paddock",
                 Value(cat("the webhook of '", printable(approval.tool),
                           "' is not told: ", kMostWebhooks, " others are being told already")));
}

// The retry must bring the very state that the tool gave out.
std::optional<Approval> Desk::take_continued(DeskCall& call, const mcp::Context& context) {
  auto found = continued_.find(call.hash);
  const Value* state = state_of_retry(context);
  if (found == continued_.end() || !state || *state != found->second.state) return std::nullopt;
  Continued continued = std::move(found->second);
  continued_.erase(found);
  if (loop_.now() >= continued.until) return std::nullopt;
  call.continued = continued.rounds;
  return std::move(continued.approval);
}

// Not needed for an approval that is remembered anyway. The oldest are not pushed out: then a
// client asks again, which is safe.
void Desk::remember(const DeskCall& call, const Value& state, int rounds) {
  if (call.approval->remember_ms != 0) return;  // it is still there
  std::erase_if(continued_, [&](const auto& each) { return each.second.until <= loop_.now(); });
  if (continued_.size() >= kMostRemembered) return;
  continued_[call.hash] = {*call.approval, state, rounds, loop_.now() + call.ask()->timeout_ms};
}

// Stops after a few rounds, so that one approval cannot carry an endless conversation.
void Desk::remember_continued(const DeskCall& call, const mcp::Answer& answer) {
  if (call.continued < kMostContinued)
    remember(call, answer.input->state ? Value(*answer.input->state) : Value(), call.continued + 1);
}

// The approval was used up before it turned out that there is no room.
void Desk::keep_approval(const DeskCall& call, const mcp::Context& context) {
  if (call.continued == 0)
    (void)approvals_->put_back(*call.approval);
  else if (const Value* state = state_of_retry(context))
    remember(call, *state, call.continued);
}

// Bounds what an agent can make people read before anybody is asked.
Task<Decision> Desk::get_approval(DeskCall& call, std::shared_ptr<mcp::Context> context) {
  if (to_json(call.arguments).size() > kLargestArguments)
    co_return denial(call.rule("ask"),
                     cat("its arguments are too long for somebody to read and approve (",
                         human_size(kLargestArguments), " at most)"),
                     "call it with less");
  if (waiting_.count(call.agent) && waiting_[call.agent] >= kMostWaiting)
    co_return denial(call.rule("ask"), cat(kMostWaiting, " calls wait for approval already"),
                     "wait until they are decided");
  call.approval = take_continued(call, *context);
  if (call.approval) co_return Decision{.kind = Decision::Kind::allow};
  ++waiting_[call.agent];
  Decision decision = co_await wait_for_approval(call, context);
  if (--waiting_[call.agent] == 0) waiting_.erase(call.agent);
  co_return decision;
}

// Each round uses an approval that is there, or asks for one and waits.
Task<Decision> Desk::wait_for_approval(DeskCall& call, std::shared_ptr<mcp::Context> context) {
  const std::string rule = call.rule("ask");
  const int64_t timeout_ms = call.ask()->timeout_ms;
  Approval wanted = approval_for(call);
  Milliseconds deadline = loop_.now() + timeout_ms;
  for (int round = 0; round < kMostRounds; ++round) {
    Result<std::optional<Approval>> used = approvals_->use(wanted.hash);
    if (!used)
      co_return denial(rule,
                       cat("it cannot be known whether it was approved: ", used.error().message),
                       used.error().hint);
    call.approval = std::move(used.value());
    if (call.approval) co_return Decision{.kind = Decision::Kind::allow};
    if (loop_.now() >= deadline) break;

    // A new question is counted. Then the call is written down for people to decide about.
    Result<std::optional<Approval>> about = approvals_->about(wanted.hash);
    if (about && !about.value()) {
      Decision may_ask = take_question(call);
      if (may_ask.kind == Decision::Kind::deny) co_return may_ask;
    }
    wanted.expires_ms = wanted.asked_ms + deadline - loop_.now();
    Result<Approval> asked = about ? approvals_->ask(wanted) : Result<Approval>(about.error());
    if (!asked)
      co_return denial(rule, cat("it must be approved: ", asked.error().message),
                       asked.error().hint);

    Approval question = asked.value();
    Result<Approval> said = co_await wait_for_decision(call, std::move(question), context);
    // Another call used it, or withdrew it.
    if (!said && said.error().code == Code::not_found) continue;
    if (!said) co_return denial(rule, said.error().message, said.error().hint);
    if (said.value().state == Approval::State::denied)
      co_return denial(
          rule, cat("it was not approved, ", printable(said.value().why)),
          "do something else, or ask the user; the same call is not asked about again for a while");
    if (said.value().state == Approval::State::expired) break;
  }
  co_return denial(rule, cat("nobody approved it within ", in_words(timeout_ms)),
                   "ask the user, then call again");
}

// Tells people only once for each approval, however many calls wait for it.
Task<Result<Approval>> Desk::wait_for_decision(const DeskCall& call, Approval asked,
                                               std::shared_ptr<mcp::Context> context) {
  auto stop = std::make_shared<WebhookStop>();
  if (asked.state == Approval::State::waiting) {
    if (!asked_about_.count(asked.id)) note_asked(call, asked);
    tell_people(call, context, asked, stop);
  }
  std::function<bool()> given_up = [context] { return context->is_cancelled(); };
  Result<Approval> said = co_await approvals_->wait(loop_, asked.id, given_up);
  asked_about_.erase(asked.id);
  stop->stop();
  co_return said;
}

}  // namespace paddock::tools
