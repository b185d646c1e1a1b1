#include "tools/decide/denial.h"

#include "base/text.h"
#include "base/units.h"

namespace paddock::tools {

using policy::Decision;

namespace {

// In bytes.
constexpr size_t kLongestWord = 2'000;

// A reason may quote arguments, which may be long.
std::string cut(std::string text) {
  if (text.size() > kLongestWord) text = cat(to_utf8(text.substr(0, kLongestWord)), "…");
  return text;
}

}  // namespace

// Rounded up to whole seconds, so that nobody comes back too early.
std::string in_words(int64_t milliseconds) {
  if (milliseconds > 1'000) milliseconds = (milliseconds + 999) / 1'000 * 1'000;
  return format_duration(static_cast<uint64_t>(milliseconds));
}

Decision denial(std::string rule, std::string why, std::string hint) {
  return {.kind = Decision::Kind::deny,
          .rule = std::move(rule),
          .why = std::move(why),
          .hint = std::move(hint)};
}

// What a denied caller and explain_denial get to see.
Value denial_value(const DeskCall& call, const Decision& decision) {
  Value value;
  value.set("id", call.id);
  value.set("rule", decision.rule);
  value.set("why", cut(decision.why));
  if (!decision.hint.empty()) value.set("hint", cut(decision.hint));
  if (decision.retry_after_ms > 0) value.set("retry_after_ms", decision.retry_after_ms);
  return value;
}

// An unknown tool is an error of the protocol. Any other denial is a result, which models can
// read.
mcp::Answer denial_answer(const DeskCall& call, const Decision& decision, bool is_unknown) {
  Value about = denial_value(call, decision);
  if (is_unknown)
    return mcp::Answer::failed(mcp::kInvalidParams,
                               cat("Unknown tool: ", printable(call.name.substr(0, 200))),
                               Value::Object{{"paddock/denial", std::move(about)}});
  std::string text = cat("Denied by ", decision.rule, ": ", cut(decision.why));
  if (!ends_with(text, ".")) text += ".";
  if (!decision.hint.empty()) text += cat(" Hint: ", cut(decision.hint));
  Value result = error_result(text);
  result.set("_meta", Value::Object{{"paddock/denial", std::move(about)}});
  return mcp::Answer::done(std::move(result));
}

// Has the form of a result, so that clients and models handle it as they would handle the call's.
mcp::Answer rehearsal_answer(const DeskCall& call, const Decision& decision) {
  bool asks = decision.kind == Decision::Kind::ask;
  std::string text =
      cat("Dry run: '", printable(call.name),
          asks ? "' would wait until somebody approves this call" : "' would be called",
          ". Nothing was done.");
  // A client holds a tool with an output schema to it, unless the result is an error.
  Value result = call.tool->shown.output_schema.is_null() ? text_result(text) : error_result(text);
  result.set("_meta", Value::Object{
                          {"paddock/dry_run",
                           Value::Object{{"id", call.id}, {"verdict", to_string(decision.kind)}}}});
  return mcp::Answer::done(std::move(result));
}

// Each caller has its own memory, so that many denials of one do not push out those of another, and
// nobody sees those of others.
void DenialMemory::add(const CallerPrincipal& caller, const std::string& id, Value denial) {
  std::string key = cat(caller.id, "\n", caller.agent_id());
  // The caller that was denied nothing for the longest time is forgotten.
  if (!callers_.count(key) && callers_.size() >= kCallers) {
    auto oldest = callers_.begin();
    for (auto each = callers_.begin(); each != callers_.end(); ++each)
      if (each->second.used < oldest->second.used) oldest = each;
    callers_.erase(oldest);
  }
  Memory& memory = callers_[key];
  memory.used = ++uses_;
  memory.denials.emplace_back(id, std::move(denial));
  if (memory.denials.size() > kOfEach) memory.denials.pop_front();
}

Value DenialMemory::find(const CallerPrincipal& caller, const std::string& id) const {
  auto memory = callers_.find(cat(caller.id, "\n", caller.agent_id()));
  if (memory == callers_.end()) return {};
  for (const auto& [each, denial] : memory->second.denials)
    if (each == id) return denial;
  return {};
}

}  // namespace paddock::tools
