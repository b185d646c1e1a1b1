// Somebody has to agree. All ways to say so end in the same file of tools/decide/approvals.h; the
// first word counts.
#include <algorithm>

#include "base/text.h"
#include "tools/decide/desk_state.h"
#include "tools/decide/webhook.h"

namespace paddock::tools {

namespace {

using io::Milliseconds;
using io::Task;
using policy::Decision;

constexpr size_t kLargestArguments = 64 << 10;  // that a person is asked about
// In a form of the client; longer ones are for `paddock approve` alone.
constexpr size_t kLongestQuestion = 8 << 10;
// Calls of one agent in this process, the same ones too.
constexpr uint64_t kMostWaiting = 64;
constexpr int kMostRounds = 100;
// Times that a tool may ask its client for something in one approved call.
constexpr int kMostContinued = 8;
constexpr size_t kMostRemembered = 1024;
constexpr uint64_t kMostWebhooks = 32;  // that are being told at once

// ---- by the MCP client's user ---

std::string hidden_text(const Approval& approval) {
  std::string text = hidden_words(approval);
  return text.empty() ? "" : cat("\n(", text, ")");
}

bool can_show_forms(const mcp::Client& client) {
  return client.can("elicitation") &&
         (client.can("elicitation.form") || !client.can("elicitation.url"));
}

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

Task<void> ask_user(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context,
                    Approval approval) {
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
  // The first word counts.
  (void)desk->approvals->decide(approval.id, approves, "the user of the MCP client", "");
}

// ---- by a webhook ---

struct Telling {
  Desk::State& desk;
  explicit Telling(Desk::State& in) : desk(in) { ++desk.webhooks; }
  Telling(const Telling&) = delete;
  ~Telling() { --desk.webhooks; }
};

Task<void> ask_webhook(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context,
                       policy::Ask ask, Approval approval, std::shared_ptr<WebhookStop> stop) {
  Telling telling(*desk);
  WebhookWord word = co_await tell_webhook(desk->loop, ask, approval, stop);
  if (stop->is_stopped) co_return;
  if (word.decided)
    (void)desk->approvals->decide(approval.id, word.approve, "the webhook", word.why);
  if (!word.failed.empty())
    context->log("warning", "paddock",
                 Value(cat("the webhook of '", printable(approval.tool),
                           "' was not reached: ", word.failed)));
}

// ---- by anybody ---

void tell_people(std::shared_ptr<Desk::State> desk, std::shared_ptr<mcp::Context> context,
                 const policy::Ask& ask, const Approval& approval,
                 std::shared_ptr<WebhookStop> stop) {
  context->log("notice", "paddock",
               Value(cat("'", printable(approval.tool), "' waits for approval: paddock approve ",
                         approval.id)));
  if (context->wants_progress())
    context->progress(0, std::nullopt, cat("waits for approval ", approval.id));
  // Another call that is the same waits already.
  if (!desk->told.insert(approval.id).second) return;
  if (ask.elicit && can_show_forms(context->client)) io::spawn(ask_user(desk, context, approval));
  if (ask.webhook.empty()) return;
  if (desk->webhooks < kMostWebhooks)
    io::spawn(ask_webhook(desk, context, ask, approval, std::move(stop)));
  else
    context->log("warning", "paddock",
                 Value(cat("the webhook of '", printable(approval.tool),
                           "' is not told: ", kMostWebhooks, " others are being told already")));
}

struct Waiting {
  Desk::State& desk;
  std::string agent;
  Waiting(Desk::State& in, std::string who) : desk(in), agent(std::move(who)) {
    ++desk.waiting[agent];
  }
  Waiting(const Waiting&) = delete;
  ~Waiting() {
    if (--desk.waiting[agent] == 0) desk.waiting.erase(agent);
  }
};

// {"parts","kinds","bytes"}: an approver should know how much of the arguments they do not see.
Value hidden_value(const redact::Counts& hidden, size_t bytes) {
  if (redact::total(hidden) == 0) return {};
  Value kinds{Value::Object{}};
  for (const auto& [kind, times] : hidden) kinds.set(kind, times);
  return Value::Object{
      {"parts", redact::total(hidden)}, {"kinds", std::move(kinds)}, {"bytes", bytes}};
}

// ---- a tool that goes on ---

bool is_retry_of(const Continued& continued, const mcp::Context& context) {
  // Sealed by mcp/, or not there.
  const Value* state = context.params.as_object() ? context.params.find("requestState") : nullptr;
  return state && to_json(*state) == to_json(continued.state);
}

std::optional<Approval> take_continued(Desk::State& desk, DeskCall& call,
                                       const mcp::Context& context) {
  auto found = desk.continued.find(call.hash);
  if (found == desk.continued.end() || !is_retry_of(found->second, context)) return std::nullopt;
  Continued continued = std::move(found->second);
  desk.continued.erase(found);
  if (desk.loop.now() >= continued.until) return std::nullopt;
  call.continued = continued.rounds;
  return std::move(continued.approval);
}

void remember(Desk::State& desk, const DeskCall& call, const Value& state, int rounds) {
  if (call.approval->remember_ms != 0) return;  // it is still there
  std::erase_if(desk.continued,
                [&](const auto& each) { return each.second.until <= desk.loop.now(); });
  if (desk.continued.size() >= kMostRemembered) return;
  desk.continued[call.hash] = {*call.approval, state, rounds,
                               desk.loop.now() + ask_of(call)->timeout_ms};
}

}  // namespace

void remember_continued(Desk::State& desk, const DeskCall& call, const mcp::Answer& answer) {
  if (call.continued < kMostContinued)
    remember(desk, call, answer.input->state ? Value(*answer.input->state) : Value(),
             call.continued + 1);
}

void keep_approval(Desk::State& desk, const DeskCall& call, const mcp::Context& context) {
  const Value* state = context.params.as_object() ? context.params.find("requestState") : nullptr;
  if (call.continued == 0)
    (void)desk.approvals->put_back(*call.approval);
  else if (state)
    remember(desk, call, *state, call.continued);
}

Task<Decision> get_approval(std::shared_ptr<Desk::State> desk, DeskCall& call,
                            std::shared_ptr<mcp::Context> context) {
  const policy::Ask& ask = *ask_of(call);
  const std::string rule = cat("tools.", printable(call.name), ".ask");
  Approval wanted;
  wanted.tool = call.name;
  wanted.agent = call.agent;
  wanted.hash = call.hash;
  wanted.remember_ms = ask.remember_ms;
  size_t size = to_json(call.arguments).size();
  if (size > kLargestArguments)
    co_return denial(rule,
                     cat("its arguments are too long for somebody to read and approve (",
                         human_size(kLargestArguments), " at most)"),
                     "call it with less");
  if (desk->waiting.count(call.agent) && desk->waiting[call.agent] >= kMostWaiting)
    co_return denial(rule, cat(kMostWaiting, " calls wait for approval already"),
                     "wait until they are decided");
  if ((call.approval = take_continued(*desk, call, *context)))
    co_return Decision{.kind = Decision::Kind::allow};
  redact::Counts hidden;
  wanted.arguments = redact_all(call.arguments, call.redaction, &hidden);
  wanted.hidden = hidden_value(hidden, size);
  Waiting waits(*desk, call.agent);
  Milliseconds deadline = desk->loop.now() + ask.timeout_ms;
  for (int round = 0; round < kMostRounds; ++round) {
    Result<std::optional<Approval>> used = desk->approvals->use(wanted.hash);
    if (!used)
      co_return denial(rule,
                       cat("it cannot be known whether it was approved: ", used.error().message),
                       used.error().hint);
    call.approval = std::move(used.value());
    if (call.approval) co_return Decision{.kind = Decision::Kind::allow};
    if (desk->loop.now() >= deadline) break;
    Result<std::optional<Approval>> about = desk->approvals->about(wanted.hash);
    if (!about)
      co_return denial(rule, cat("it must be approved: ", about.error().message),
                       about.error().hint);
    if (!about.value()) {
      Decision may_ask = take_question(*desk, call);
      if (may_ask.kind == Decision::Kind::deny) co_return may_ask;
    }
    wanted.expires_ms = wanted.asked_ms + deadline - desk->loop.now();
    Result<Approval> asked = desk->approvals->ask(wanted);
    if (!asked)
      co_return denial(rule, cat("it must be approved: ", asked.error().message),
                       asked.error().hint);
    std::string id = asked.value().id;
    auto stop = std::make_shared<WebhookStop>();
    if (asked.value().state == Approval::State::waiting) {
      if (!desk->told.count(id)) desk->note_asked(desk, call, asked.value());
      tell_people(desk, context, ask, asked.value(), stop);
    }
    std::function<bool()> given_up = [context] { return context->is_cancelled(); };
    Result<Approval> said = co_await desk->approvals->wait(desk->loop, id, given_up);
    desk->told.erase(id);
    stop->stop();
    // Used by another call, or withdrawn with it.
    if (!said && said.error().code == Code::not_found) continue;
    if (!said) co_return denial(rule, said.error().message, said.error().hint);
    if (said.value().state == Approval::State::denied)
      co_return denial(
          rule, cat("it was not approved, ", printable(said.value().why)),
          "do something else, or ask the user; the same call is not asked about again for a while");
    if (said.value().state == Approval::State::expired) break;
  }
  co_return denial(rule, cat("nobody approved it within ", in_words(ask.timeout_ms)),
                   "ask the user, then call again");
}

}  // namespace paddock::tools
