// What the policy says about a call.
#include "base/text.h"
#include "tools/decide/desk_state.h"

namespace paddock::tools {

namespace {

using policy::Decision;

const Decision kAllowed{.kind = Decision::Kind::allow};
constexpr uint64_t kMostQuestions = 60;  // an hour, about one agent's calls

std::string rule_of(const DeskCall& call, std::string_view key) {
  return cat("tools.", printable(call.name), ".", key);
}

void add_wants(std::vector<Rates::Want>& wants, const std::vector<policy::Rate>& rates,
               const std::string& key, const std::string& rule) {
  for (const policy::Rate& rate : rates) wants.push_back({key, rate, rule});
}

// NUL between the parts: no name has one, so that no two keys read the same.
std::vector<Rates::Want> wants_of(const Desk::State& desk, const DeskCall& call) {
  std::vector<Rates::Want> wants;
  const std::string nul(1, '\0');
  const policy::Calls& calls = desk.policy->calls();
  if (const policy::Tool* rules = call.tool->rules) {
    add_wants(wants, rules->rates, cat("tool", nul, call.name), rule_of(call, "rate"));
    add_wants(wants, rules->agent_rates, cat("agent", nul, call.agent, nul, "tool", nul, call.name),
              rule_of(call, "agent_rate"));
  }
  add_wants(wants, calls.rates, "calls", "calls.rate");
  add_wants(wants, calls.agent_rates, cat("agent", nul, call.agent), "calls.agent_rate");
  return wants;
}

// Places that are taken are let go of with `held`.
Decision judge_places(const Desk::State& desk, const DeskCall& call, std::vector<Fd>& held) {
  auto full = [](const std::string& rule, uint64_t most, std::string_view what) {
    return denial(rule, cat("no more than ", most, what, " may be under way at once"),
                  "wait until one has ended, then call again");
  };
  uint64_t most = call.tool->rules ? call.tool->rules->at_once : 0,
           of_all = desk.policy->calls().at_once;
  auto running = desk.running.find(call.name);
  if (most && running != desk.running.end() && running->second >= most)
    return full(rule_of(call, "at_once"), most, " of its calls");
  if (of_all && desk.all_running >= of_all) return full("calls.at_once", of_all, " calls");
  // And of all processes together.
  auto take = [&](const std::string& key, const std::string& rule, uint64_t of,
                  std::string_view what) -> Decision {
    if (of == 0 || of > Places::kMost) return kAllowed;
    Result<std::optional<Fd>> taken = desk.places->take(key, of);
    if (!taken)
      return denial(rule, cat("it cannot be known how many are under way: ", taken.error().message),
                    taken.error().hint);
    if (!taken.value()) return full(rule, of, what);
    held.push_back(std::move(*taken.value()));
    return kAllowed;
  };
  Decision decision = take(cat("tool", std::string(1, '\0'), call.name), rule_of(call, "at_once"),
                           most, " of its calls");
  return decision.kind == Decision::Kind::deny ? decision
                                               : take("calls", "calls.at_once", of_all, " calls");
}

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

Decision judge_name(const Desk::State& desk, const DeskCall& call) {
  if (call.tool && call.tool->provider) return kAllowed;
  for (const Provider* provider : desk.providers) {
    Withheld withheld = provider->withheld(call.name);
    if (!withheld.rule.empty()) return denial(withheld.rule, withheld.why, withheld.hint);
  }
  if (call.tool) return kAllowed;  // the policy lists it; that nobody here has it is found out last
  std::vector<std::string> names;
  for (const auto& [name, tool] : desk.tools) names.push_back(name);
  std::string meant = nearest(call.name.substr(0, 100), names);
  return denial("tools", "no tool of exactly this name is on the allowlist",
                meant.empty() ? "tools/list has those that may be called"
                              : cat("did you mean '", printable(meant), "'?"));
}

Decision judge_arguments(const DeskCall& call) {
  if (!call.arguments.as_object())
    return denial(rule_of(call, "schema"),
                  cat("arguments must be an object, not ", call.arguments.type_name()), "");
  if (call.tool->rules) {
    Decision decision = call.tool->rules->decide(call.arguments);
    if (decision.kind == Decision::Kind::deny) return decision;
  }
  const DeskTool::Schemas& schemas = call.tool->schemas();
  if (!schemas.broken.empty())
    return denial(rule_of(call, "inputSchema"), schemas.broken, "its author has to mend it");
  if (!schemas.input) return kAllowed;
  std::optional<schema::Violation> wrong = schemas.input->check(call.arguments);
  if (!wrong) return kAllowed;
  return denial(rule_of(call, "inputSchema"),
                cat(wrong->where.empty() ? "the arguments" : wrong->where, " ", wrong->why),
                "see the tool's inputSchema in tools/list");
}

Decision look_for_room(Desk::State& desk, const DeskCall& call) {
  std::vector<Fd> held;
  Decision decision = judge_places(desk, call, held);
  if (decision.kind == Decision::Kind::deny) return decision;
  std::vector<Rates::Want> wants = wants_of(desk, call);
  return judge_rates(wants, desk.rates->look(wants));
}

Decision take_room(std::shared_ptr<Desk::State> desk, const DeskCall& call,
                   std::optional<Place>& place) {
  std::vector<Fd> held;
  Decision decision = judge_places(*desk, call, held);
  if (decision.kind == Decision::Kind::deny) return decision;
  std::vector<Rates::Want> wants = wants_of(*desk, call);
  decision = judge_rates(wants, desk->rates->take(wants));
  if (decision.kind != Decision::Kind::deny) place.emplace(desk, call.name, std::move(held));
  return decision;
}

Decision take_question(Desk::State& desk, const DeskCall& call) {
  const std::string nul(1, '\0');
  std::vector<Rates::Want> wants{{cat("ask", nul, call.agent),
                                  {.count = kMostQuestions,
                                   .period_ms = 3'600'000,
                                   .burst = 0,
                                   .text = cat(kMostQuestions, "/hour")},
                                  rule_of(call, "ask")}};
  Result<std::optional<Rates::Refused>> counted = desk.rates->take(wants);
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

Decision judge_definition(const Desk::State& desk, const DeskCall& call) {
  if (!call.tool->provider) return kAllowed;
  std::shared_ptr<const DeskTool> now = desk.find(call.name);
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

const policy::Ask* ask_of(const DeskCall& call) {
  return call.tool->rules && call.tool->rules->ask ? &*call.tool->rules->ask : nullptr;
}

uint64_t output_bytes_of(const Desk::State& desk, const DeskCall& call) {
  uint64_t own = call.tool->rules ? call.tool->rules->output_bytes : 0;
  return own ? own : desk.policy->calls().output_bytes;
}

int64_t timeout_of(const Desk::State& desk, const DeskCall& call) {
  int64_t own = call.tool->rules ? call.tool->rules->timeout_ms : 0,
          of_server = call.tool->server ? call.tool->server->call_timeout_ms : 0;
  return own ? own : of_server ? of_server : desk.policy->calls().timeout_ms;
}

Place::Place(std::shared_ptr<Desk::State> desk, std::string tool, std::vector<Fd> shared)
    : desk_(std::move(desk)), tool_(std::move(tool)), shared_(std::move(shared)) {
  ++desk_->running[tool_];
  ++desk_->all_running;
}

Place::~Place() {
  if (!desk_) return;
  --desk_->all_running;
  auto running = desk_->running.find(tool_);
  if (--running->second == 0) desk_->running.erase(running);
}

}  // namespace paddock::tools
