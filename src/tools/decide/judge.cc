// What the policy says about a call.
#include "base/text.h"
#include "tools/decide/desk.h"

namespace paddock::tools {

namespace {

using policy::Decision;

const Decision kAllowed{.kind = Decision::Kind::allow};

// Per hour, about the calls of one agent.
constexpr uint64_t kMostQuestions = 60;

// One count for each rate of a list.
void add_wants(std::vector<Rates::Want>& wants, const std::vector<policy::Rate>& rates,
               const std::string& key, const std::string& rule) {
  for (const policy::Rate& rate : rates) wants.push_back({key, rate, rule});
}

// NUL between the parts of a key: no name has one, so that no two keys read the same.
const std::string kNul(1, '\0');

std::string tool_key(const DeskCall& call) { return cat("tool", kNul, call.name); }
std::string agent_key(const DeskCall& call) { return cat("agent", kNul, call.agent); }

}  // namespace

std::string DeskCall::rule(std::string_view key) const {
  return cat("tools.", printable(name), ".", key);
}

// A call counts against up to four lists: of its tool and of all tools, for all agents and for its
// own.
std::vector<Rates::Want> Desk::wants_of(const DeskCall& call) const {
  std::vector<Rates::Want> wants;
  const policy::Calls& calls = policy_->calls();
  if (const policy::Tool* rules = call.tool->rules) {
    add_wants(wants, rules->rates, tool_key(call), call.rule("rate"));
    add_wants(wants, rules->agent_rates, cat(agent_key(call), kNul, tool_key(call)),
              call.rule("agent_rate"));
  }
  add_wants(wants, calls.rates, "calls", "calls.rate");
  add_wants(wants, calls.agent_rates, agent_key(call), "calls.agent_rate");
  return wants;
}

// Slots that are taken are freed with `held`.
Decision Desk::judge_slots(const DeskCall& call, std::vector<Fd>& held) const {
  auto full = [](const std::string& rule, uint64_t most, std::string_view what) {
    return denial(rule, cat("no more than ", most, what, " may be under way at once"),
                  "wait until one has ended, then call again");
  };
  uint64_t most = call.tool->rules ? call.tool->rules->at_once : 0,
           of_all = policy_->calls().at_once;
  auto running = running_.find(call.name);
  if (most && running != running_.end() && running->second >= most)
    return full(call.rule("at_once"), most, " of its calls");
  if (of_all && all_running_ >= of_all) return full("calls.at_once", of_all, " calls");
  // And of all processes together.
  auto take = [&](const std::string& key, const std::string& rule, uint64_t of,
                  std::string_view what) -> Decision {
    if (of == 0 || of > CallSlots::kMost) return kAllowed;
    Result<std::optional<Fd>> taken = slots_->take(key, of);
    if (!taken)
      return denial(rule, cat("it cannot be known how many are under way: ", taken.error().message),
                    taken.error().hint);
    if (!taken.value()) return full(rule, of, what);
    held.push_back(std::move(*taken.value()));
    return kAllowed;
  };
  Decision decision = take(tool_key(call), call.rule("at_once"), most, " of its calls");
  return decision.kind == Decision::Kind::deny ? decision
                                               : take("calls", "calls.at_once", of_all, " calls");
}

namespace {

// The first rate that refuses is named, with the time until there is room again.
Decision judge_rates(const std::vector<Rates::Want>& wants,
                     const Result<std::optional<Rates::Refused>>& counted) {
  if (!counted)
    return denial("rates", cat("the call cannot be counted: ", counted.error().message),
                  counted.error().hint);
  if (!counted.value()) return kAllowed;
  const Rates::Want& want = wants[counted.value()->which];
  std::string wait = in_words(counted.value()->retry_after_ms);
  Decision decision =
      denial(want.rule,
             cat("no more than ", want.rate.text, " are allowed",
                 want.rule.find("agent") == std::string::npos ? "" : " for each agent",
                 "; there is room again in ", wait),
             cat("call again in ", wait));
  decision.retry_after_ms = counted.value()->retry_after_ms;
  return decision;
}

}  // namespace

// A tool that is withheld says so, so that nobody takes it for one that never was.
Decision Desk::judge_name(const DeskCall& call) const {
  if (call.tool && call.tool->provider) return kAllowed;
  for (const Provider* provider : providers_) {
    Withheld withheld = provider->withheld(call.name);
    if (!withheld.rule.empty()) return denial(withheld.rule, withheld.why, withheld.hint);
  }
  if (call.tool) return kAllowed;  // the policy lists it; that nobody here has it is found out last
  std::vector<std::string> names;
  for (const auto& [name, tool] : tools_) names.push_back(name);
  std::string meant = nearest(call.name.substr(0, 100), names);
  return denial("tools", "no tool of exactly this name is on the allowlist",
                meant.empty() ? "tools/list has those that may be called"
                              : cat("did you mean '", printable(meant), "'?"));
}

// The policy's schema and rules come first, then the tool's own schema.
Decision judge_arguments(const DeskCall& call) {
  if (!call.arguments.as_object())
    return denial(call.rule("schema"),
                  cat("arguments must be an object, not ", call.arguments.type_name()), "");
  if (call.tool->rules) {
    Decision decision = call.tool->rules->decide(call.arguments);
    if (decision.kind == Decision::Kind::deny) return decision;
  }
  const DeskTool::Schemas& schemas = call.tool->schemas();
  if (!schemas.broken.empty())
    return denial(call.rule("inputSchema"), schemas.broken, "its author has to mend it");
  if (!schemas.input) return kAllowed;
  std::optional<schema::Violation> wrong = schemas.input->check(call.arguments);
  if (!wrong) return kAllowed;
  return denial(call.rule("inputSchema"),
                cat(wrong->where.empty() ? "the arguments" : wrong->where, " ", wrong->why),
                "see the tool's inputSchema in tools/list");
}

// Takes the slots only to see whether they are free; they are released on return.
Decision Desk::look_for_room(const DeskCall& call) {
  std::vector<Fd> held;
  Decision decision = judge_slots(call, held);
  if (decision.kind == Decision::Kind::deny) return decision;
  std::vector<Rates::Want> wants = wants_of(call);
  return judge_rates(wants, rates_->look(wants));
}

// The slots come first: they can be given back, while a count cannot.
Decision Desk::take_room(const DeskCall& call, std::optional<CallSlot>& slot) {
  std::vector<Fd> held;
  Decision decision = judge_slots(call, held);
  if (decision.kind == Decision::Kind::deny) return decision;
  std::vector<Rates::Want> wants = wants_of(call);
  decision = judge_rates(wants, rates_->take(wants));
  if (decision.kind != Decision::Kind::deny)
    slot.emplace(shared_from_this(), call.name, std::move(held));
  return decision;
}

// Agents must not wear people down with questions.
Decision Desk::take_question(const DeskCall& call) {
  std::vector<Rates::Want> wants{{cat("ask", kNul, call.agent),
                                  {.count = kMostQuestions,
                                   .period_ms = 3'600'000,
                                   .burst = 0,
                                   .text = cat(kMostQuestions, "/hour")},
                                  call.rule("ask")}};
  Result<std::optional<Rates::Refused>> counted = rates_->take(wants);
  if (!counted || !counted.value()) return judge_rates(wants, counted);
  std::string wait = in_words(counted.value()->retry_after_ms);
  Decision decision =
      denial(wants[0].rule,
             cat("nobody is asked more than ", kMostQuestions,
                 " times an hour about one agent's calls; there is room again in ", wait),
             cat("call again in ", wait));
  decision.retry_after_ms = counted.value()->retry_after_ms;
  return decision;
}

// Waiting for an approval or the disk takes time, in which a server may change its tools.
Decision Desk::judge_definition(const DeskCall& call) const {
  if (!call.tool->provider) return kAllowed;
  std::shared_ptr<const DeskTool> now = known(call.name);
  if (now == call.tool ||
      (now && now->provider == call.tool->provider && is_same(now->info, call.tool->info)))
    return kAllowed;
  Withheld withheld = call.tool->provider->withheld(call.name);
  if (!withheld.rule.empty()) return denial(withheld.rule, withheld.why, withheld.hint);
  return denial(
      "tools",
      cat("'", printable(call.name), "' is not what it was any more when this call was judged"),
      "look at tools/list, then call again");
}

// A tool's own limit wins over that of [calls], in both directions.
uint64_t Desk::output_bytes_of(const DeskCall& call) const {
  uint64_t own = call.tool->rules ? call.tool->rules->output_bytes : 0;
  return own ? own : policy_->calls().output_bytes;
}

// The tool's own time, else its server's, else that of [calls].
int64_t Desk::timeout_of(const DeskCall& call) const {
  int64_t own = call.tool->rules ? call.tool->rules->timeout_ms : 0,
          of_server = call.tool->server ? call.tool->server->call_timeout_ms : 0;
  return own ? own : of_server ? of_server : policy_->calls().timeout_ms;
}

// Also counts in memory, because the shared locks count at most CallSlots::kMost.
CallSlot::CallSlot(std::shared_ptr<Desk> desk, std::string tool, std::vector<Fd> shared)
    : desk_(std::move(desk)), tool_(std::move(tool)), shared_(std::move(shared)) {
  ++desk_->running_[tool_];
  ++desk_->all_running_;
}

// A moved-from slot holds nothing.
CallSlot::~CallSlot() {
  if (!desk_) return;
  --desk_->all_running_;
  auto running = desk_->running_.find(tool_);
  if (--running->second == 0) desk_->running_.erase(running);
}

}  // namespace paddock::tools
