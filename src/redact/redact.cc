#include "redact/redact.h"

#include "redact/compiled.h"
#include "redact/engine.h"

namespace paddock::redact {

Rules::Rules(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
Rules::~Rules() = default;

// The embedded rules always compile, which the build has checked.
std::shared_ptr<const Rules> Rules::common() {
  static const std::shared_ptr<const Rules> rules = compile({}).value();
  return rules;
}

uint64_t total(const Counts& counts) {
  uint64_t sum = 0;
  for (const auto& [kind, count] : counts) sum += count;
  return sum;
}

Result<void> check_pattern(std::string_view pattern) {
  TRY(compile_pattern(pattern, kPatternBudget));
  return {};
}

// Several rules may share a kind; it is listed once, in the order of the rules.
const std::vector<KindInfo>& kinds() {
  static const std::vector<KindInfo> all = [] {
    std::vector<KindInfo> infos;
    for (size_t i = 0; i < kEmbeddedRuleCount; ++i) {
      const EmbeddedRule& rule = kEmbeddedRules[i];
      bool is_new = true;
      for (const KindInfo& info : infos) is_new &= info.name != rule.kind;
      if (is_new) infos.push_back({rule.kind, rule.what, rule.source});
    }
    return infos;
  }();
  return all;
}

// The engine points into the rules, so the stream keeps them alive.
struct Stream::State {
  std::shared_ptr<const Rules> rules;
  Engine engine;
};

Stream::Stream(std::shared_ptr<const Rules> rules)
    : state_(new State{rules, Engine(rules->compiled())}) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;
void Stream::feed(std::string_view chunk, std::string& out) { state_->engine.feed(chunk, out); }
void Stream::idle(std::string& out) { state_->engine.idle(out); }
void Stream::finish(std::string& out) { state_->engine.finish(out); }
bool Stream::holds() const { return state_->engine.held() > 0; }
const Counts& Stream::counts() const { return state_->engine.counts(); }

// For a text that is complete.
std::string redacted(const Rules& rules, std::string_view text, Counts* counts) {
  std::string out;
  Engine engine(rules.compiled());
  engine.feed(text, out);
  engine.finish(out);
  if (counts)
    for (const auto& [kind, count] : engine.counts()) (*counts)[kind] += count;
  return out;
}

namespace {

// A value beside its name says more than alone: {"password": "…"}.
std::string redacted_member(const Rules& rules, const std::string& name, const std::string& text,
                            Counts* counts) {
  std::string out = redacted(rules, text, counts);
  if (out != text || text.empty() || looks_secret(name, text).empty()) return out;
  Counts found;
  std::string start = name + "=\"", both = redacted(rules, start + text + "\"", &found);
  if (both.size() <= start.size() + 1 || both.compare(0, start.size(), start) != 0) return out;
  if (counts)
    for (const auto& [kind, count] : found) (*counts)[kind] += count;
  return both.substr(start.size(), both.size() - start.size() - 1);
}

}  // namespace

// Keys are redacted too. Two keys that become the same get a number, because a value must not
// vanish.
Value redacted_value(const Rules& rules, const Value& value, Counts* counts) {
  Value out = value;
  if (const std::string* text = value.as_string()) {
    out = Value(redacted(rules, *text, counts));
  } else if (const Value::Array* array = value.as_array()) {
    Value::Array items;
    for (const Value& item : *array) items.push_back(redacted(rules, item, counts));
    out = Value(std::move(items));
  } else if (const Value::Object* object = value.as_object()) {
    Value::Object members;
    std::set<std::string> names;  // keys are unique
    std::map<std::string, size_t> changed;
    for (const auto& [name, member] : *object) {
      std::string shown = redacted(rules, name, counts);
      const std::string as_shown = shown;
      while (!names.insert(shown).second)
        shown = as_shown + "#" + std::to_string(++changed.emplace(as_shown, 1).first->second);
      const std::string* text = member.as_string();
      members.emplace_back(shown, text ? Value(redacted_member(rules, name, *text, counts))
                                       : redacted(rules, member, counts));
    }
    out = Value(std::move(members));
  }
  out.line = value.line;
  return out;
}

}  // namespace paddock::redact
