// Whether arguments keep to a rule.
//
// A rule is kept when it cannot fail (judge.h), and left aside only when its `when` certainly
// fails.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "policy/network/url.h"
#include "policy/tools/command_line.h"
#include "policy/tools/judge.h"
#include "policy/tools/readings.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

// The first thing that is wrong, in words. Made only once it is known that something is.
struct Reason {
  std::string words, hint;
};

// What a condition is judged in. It is copied on the way down, and changed for the part below.
struct Scope {
  // The arguments of the call.
  const Value* root;
  // What the conditions are about. Null inside `when` if it is missing.
  const Value* target = nullptr;
  // For example "to[1]". Empty where nobody asks for a reason.
  std::string name;
  bool in_when = false;
  Reason* reason = nullptr;
};

// In the words of JSON, because the reader sends JSON.
const char* json_type(const Value& value) {
  return value.as_object() ? "an object" : value.is_null() ? "null" : value.type_name();
}

// Only the first complaint is kept: later ones usually follow from it.
void complain(const Scope& scope, std::string words, std::string hint = "") {
  if (scope.reason && scope.reason->words.empty())
    *scope.reason = {std::move(words), std::move(hint)};
}

// For what is not there to be judged. Inside `when` that must not switch the rule off.
Answer nothing(const Scope& scope) { return scope.in_when ? kUnclear : Answer{}; }

// A value of another type is unclear rather than wrong: the tool may convert it.
Answer wrong_type(const Scope& scope, const char* wanted) {
  if (scope.reason)
    complain(scope, cat(scope.name, " must be ", wanted, ", not ", json_type(*scope.target)));
  return kUnclear;
}

// ---- numbers and values ---

// -1, 0, 1, or none for NaN. Exact: an int64 is not squeezed into a double.
std::optional<int> compare(int64_t a, double b) {
  if (std::isnan(b)) return std::nullopt;
  if (b >= 9223372036854775808.0) return -1;
  if (b < -9223372036854775808.0) return 1;
  int64_t whole = static_cast<int64_t>(b);
  if (a != whole) return a < whole ? -1 : 1;
  double rest = b - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

std::optional<int> compare(const Value& a, const Value& b) {
  if (a.as_int() && b.as_int()) return *a.as_int() < *b.as_int() ? -1 : *a.as_int() > *b.as_int();
  if (a.as_int()) return compare(*a.as_int(), *b.as_double());
  if (b.as_int()) {
    std::optional<int> turned = compare(*b.as_int(), *a.as_double());
    return turned ? std::optional<int>(-*turned) : std::nullopt;
  }
  double x = *a.as_double(), y = *b.as_double();
  if (std::isnan(x) || std::isnan(y)) return std::nullopt;
  return x < y ? -1 : x > y;
}

bool is_number(const Value& value) { return value.as_int() || value.as_double(); }

// ---- conditions ---

// Says whether the test holds for any text of the condition.
bool any_text(const Condition& condition, bool (*test)(std::string_view, std::string_view),
              std::string_view value) {
  return std::any_of(condition.texts.begin(), condition.texts.end(),
                     [&](const std::string& text) { return test(value, text); });
}

// A control character, or what Unicode has for a line's end.
bool has_line_break(std::string_view text) {
  auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), is_control)) return true;
  for (std::string_view end : {"\u0085", "\u2028", "\u2029"})
    if (text.find(end) != std::string_view::npos) return true;
  return false;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// A path can be read in several ways. Naming the other readings shows why one that looks right
// fails.
void complain_about_reading(const Scope& scope, const Readings& readings, std::string_view value,
                            const Condition& condition) {
  if (!scope.reason) return;
  if (readings.unclear)
    return complain(
        scope, cat(scope.name, " ", readings.unclear, ", so it cannot be judged by where it leads"),
        "write an absolute path, plainly");
  std::vector<std::string> others;
  for (const std::string& path : readings.paths)
    if (path != value && others.size() < 3)
      others.push_back(cat("'", printable(path.substr(0, 120)), "'"));
  complain(scope,
           cat(scope.name, " must ", words_of(condition),
               others.empty() ? "" : cat(" (it can be read as ", join(others, " or "), ")")));
}

// Whether the path starts or ends with the text, or contains it. A directory is reached with and
// without its last slash: "/system" is not outside of "/system/", and "/x/secret/" does not hide
// from "/secret".
Answer path_has(std::string_view path, std::string_view text,
                bool (*test)(std::string_view, std::string_view)) {
  if (test(path, text)) return kHolds;
  std::string_view bare =
      path.size() > 1 && ends_with(path, "/") ? path.substr(0, path.size() - 1) : path;
  return test(bare, text) || (ends_with(text, "/") && test(cat(bare, "/"), text)) ? kUnclear
                                                                                  : kFails;
}

// A text with a slash is looked for in every reading of the value, and must be found in all of them
// or in none.
Answer has_text(const Condition& condition, std::string_view value, const Scope& scope,
                bool (*test)(std::string_view, std::string_view)) {
  auto is_about_paths = [](std::string_view text) { return is_path_text(text) || text == ".."; };
  if (std::none_of(condition.texts.begin(), condition.texts.end(), is_about_paths))
    return answer(any_text(condition, test, value));
  Readings readings;
  if (is_plain_path(value))
    readings.paths.emplace_back(value);
  else
    readings = readings_of(value, std::nullopt);
  Answer result;
  for (size_t i = 0; i < condition.texts.size(); ++i) {
    const std::string &text = condition.texts[i], &tidied = condition.tidied[i];
    Answer one = answer(test(value, text));
    if (is_about_paths(text)) {
      for (const std::string& form : readings.forms) one = one | answer(test(form, text));
      for (const std::string& path : readings.paths)
        if (!tidied.empty()) one = one | path_has(path, tidied, test);
      if (readings.unclear) one = kUnclear;
    }
    result = either(result, one);
  }
  if (!is_plain_path(value)) complain_about_reading(scope, readings, value, condition);
  return result;
}

// Every reading of the path must lie beneath one of the directories. A relative path needs `from`.
Answer lies_beneath(const Condition& condition, std::string_view value, const Scope& scope) {
  Readings readings = readings_of(
      value, condition.from ? std::optional<std::string_view>(*condition.from) : std::nullopt);
  Answer result = readings.unclear ? kUnclear : Answer{};
  if (readings.relative && !condition.from && !readings.unclear) {
    complain(scope, cat(scope.name, " must be an absolute path"),
             cat("write a path that lies beneath ", condition.words));
    result = kUnclear;
  }
  for (std::string& path : readings.paths) {
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    result = result | answer(any_text(
                          condition,
                          [](std::string_view path, std::string_view directory) {
                            return contains_path(directory, path);
                          },
                          path));
  }
  complain_about_reading(scope, readings, value, condition);
  return result;
}

// A host without a port is unclear where the rule opens only one port: the tool may choose another.
Answer leads_to(const Condition& condition, std::string_view value, const Scope& scope) {
  Result<Target> target = parse_target(value);
  if (!target) {
    if (scope.reason)
      complain(
          scope,
          cat(scope.name, " must be a URL or a host that can be judged: ", target.error().message),
          target.error().hint);
    return kUnclear;
  }
  NetworkRule asked = rule_for(target.value().host, target.value().port);
  Answer result = kFails;
  for (const NetworkRule& rule : condition.hosts) {
    if (covers(rule, asked)) return kHolds;
    NetworkRule any_port = rule;
    any_port.port.reset();
    if (!asked.port && covers(any_port, asked)) result = kUnclear;  // on one port it would
  }
  return result;
}

// Accepts a command line or a list of words. Every command in the line must be listed, and none may
// be able to run another.
Answer runs_only(const Condition& condition, const Scope& scope) {
  auto unclear = [&](const Error& error) {
    if (scope.reason)
      complain(scope, cat(scope.name, " cannot be judged: ", error.message), error.hint);
    return kUnclear;
  };
  std::vector<Command> commands;
  if (const std::string* line = scope.target->as_string()) {
    Result<std::vector<Command>> parsed = commands_in(*line);
    if (!parsed) return unclear(parsed.error());
    commands = std::move(parsed).value();
  } else if (const Value::Array* words = scope.target->as_array()) {
    Command& command = commands.emplace_back();
    for (const Value& word : *words) {
      if (!word.as_string()) return wrong_type(scope, "a command line or a list of strings");
      command.push_back(*word.as_string());
    }
  } else {
    return wrong_type(scope, "a command line or a list of strings");
  }
  Answer result;
  for (const Command& command : commands) {
    Result<void> plain = check_command(command);
    if (!plain) return unclear(plain.error());
    bool listed = std::any_of(condition.commands.begin(), condition.commands.end(),
                              [&](const Command& entry) {
                                return entry.size() <= command.size() &&
                                       std::equal(entry.begin(), entry.end(), command.begin());
                              });
    if (!listed && scope.reason)
      complain(scope, cat(scope.name, " must run nothing but ", condition.words, ", not '",
                          printable(command[0].substr(0, 80)), "'"));
    result = result | answer(listed);
  }
  return result;
}

// What a parameter that is not there has none of: it does not start with anything, nor is it any of
// the listed values. Whether it is "not read", or at most 5, cannot be told: the tool will take
// something in its place.
Answer check_missing(Test test) {
  switch (test) {
    case Test::not_starts_with:
    case Test::not_ends_with:
    case Test::not_contains:
    case Test::not_one_of:
    case Test::max:
    case Test::max_length: return kUnclear;
    default: return kFails;
  }
}

// Counts code points of a text and items of a list, as JSON Schema does.
std::optional<uint64_t> length_of(const Value& value) {
  if (const Value::Array* list = value.as_array()) return list->size();
  const std::string* text = value.as_string();
  if (!text) return std::nullopt;
  return static_cast<uint64_t>(std::count_if(text->begin(), text->end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// What is asked of any value comes first; the rest is about texts. A text with a NUL or, for
// conditions on its end, with a line break is unclear, because programs disagree about where it
// ends.
Answer check(const Condition& condition, const Scope& scope) {
  if (!scope.target) return check_missing(condition.test);
  const Value& value = *scope.target;
  switch (condition.test) {
    case Test::one_of: return is_one_of(condition.values, value);
    case Test::not_one_of: return opposite(is_one_of(condition.values, value));
    case Test::command_in: return runs_only(condition, scope);
    case Test::min:
    case Test::max: {
      if (!is_number(value)) return wrong_type(scope, "a number");
      std::optional<int> order = compare(value, condition.number);
      if (!order) return kUnclear;
      return answer(condition.test == Test::min ? *order >= 0 : *order <= 0);
    }
    case Test::min_length:
    case Test::max_length: {
      std::optional<uint64_t> length = length_of(value);
      if (!length) return wrong_type(scope, "a string or a list");
      return answer(condition.test == Test::min_length ? *length >= condition.length
                                                       : *length <= condition.length);
    }
    default: break;
  }
  const std::string* text = value.as_string();
  if (!text) return wrong_type(scope, "a string");
  // Programs in C would see only what comes before it.
  if (text->find('\0') != std::string::npos) {
    if (scope.reason) complain(scope, cat(scope.name, " contains a NUL byte"));
    return kUnclear;
  }
  // "a@evil.com\n@company.com": many programs read lines, and the last one is not all of them.
  bool is_about_end = condition.test == Test::ends_with || condition.test == Test::not_ends_with;
  if (is_about_end && has_line_break(*text) &&
      std::none_of(condition.texts.begin(), condition.texts.end(), has_line_break)) {
    if (scope.reason)
      complain(
          scope,
          cat(scope.name, " has a line break in it, so its end does not say what all of it is"),
          "send one line");
    return kUnclear;
  }
  switch (condition.test) {
    case Test::starts_with: return has_text(condition, *text, scope, starts_with);
    case Test::not_starts_with: return opposite(has_text(condition, *text, scope, starts_with));
    case Test::ends_with: return has_text(condition, *text, scope, ends_with);
    case Test::not_ends_with: return opposite(has_text(condition, *text, scope, ends_with));
    case Test::contains: return has_text(condition, *text, scope, contains);
    case Test::not_contains: return opposite(has_text(condition, *text, scope, contains));
    case Test::matches:
      return answer(
          std::any_of(condition.patterns.begin(), condition.patterns.end(),
                      [&](const schema::Pattern& pattern) { return pattern.matches(*text); }));
    case Test::path_under: return lies_beneath(condition, *text, scope);
    case Test::host_in: return leads_to(condition, *text, scope);
    default: return kUnclear;
  }
}

// ---- rules ---

Answer judge(const ToolRule& rule, const Scope& scope);

// Inside `when` nothing is explained: the reader cares for the rule itself.
bool is_left_aside(const ToolRule& rule, Scope scope) {
  scope.in_when = true;
  scope.reason = nullptr;
  return !judge(rule.when[0], scope).may_hold;
}

// Says what must hold of a target; `scope` has one unless nothing here is about it.
Answer judge_target(const ToolRule& rule, Scope scope) {
  if (!rule.when.empty() && rule.when[0].needs_target && is_left_aside(rule, scope))
    return nothing(scope);
  Answer result;
  for (const Condition& condition : rule.conditions) {
    Scope here = scope;
    Reason details;
    if (scope.reason) here.reason = &details;
    Answer one = check(condition, here);
    if (one.may_fail && scope.reason) {
      if (details.words.empty()) details.words = cat(scope.name, " must ", words_of(condition));
      complain(scope, std::move(details.words), std::move(details.hint));
    }
    result = both(result, one);
  }
  for (const ToolRule& inner : rule.all) result = both(result, judge(inner, scope));
  scope.reason = nullptr;  // behind this the rule's own sentence says more
  Answer any;
  for (const ToolRule& inner : rule.any) any = either(any, judge(inner, scope));
  result = both(result, any);
  for (const ToolRule& inner : rule.none) result = both(result, opposite(judge(inner, scope)));
  return result;
}

// Every value that the path leads to, one after the other.
Answer judge_path(const ToolRule& rule, Scope scope, size_t step) {
  if (step == rule.path.size()) return judge_target(rule, std::move(scope));
  const std::string& name = rule.path[step];
  const Value& here = *scope.target;
  if (name == "[]") {
    const Value::Array* list = here.as_array();
    if (!list) return wrong_type(scope, "a list");
    if (list->empty()) return nothing(scope);
    Answer result;
    for (size_t i = 0; i < list->size(); ++i) {
      Scope item = scope;
      item.target = &(*list)[i];
      if (scope.reason) item.name = cat(scope.name, "[", i, "]");
      result = result | judge_path(rule, std::move(item), step + 1);
    }
    return result;
  }
  if (!here.as_object()) return wrong_type(scope, "an object");
  const Value* member = here.find(name);
  if (scope.reason) scope.name = cat(scope.name, scope.name.empty() ? "" : ".", printable(name));
  if (!member) {
    if (rule.optional) return nothing(scope);
    if (scope.reason) complain(scope, cat(scope.name, " is missing"));
    if (!scope.in_when) return kUnclear;
    scope.target = nullptr;
    return judge_target(rule, std::move(scope));
  }
  scope.target = member;
  return judge_path(rule, std::move(scope), step + 1);
}

// A `when` that looks at the parameter of this rule is judged for each value of it, later.
Answer judge(const ToolRule& rule, const Scope& scope) {
  if (!rule.when.empty() && !rule.when[0].needs_target && is_left_aside(rule, scope))
    return nothing(scope);
  if (rule.path.empty()) return judge_target(rule, scope);
  Scope start = scope;
  start.target = scope.root;
  start.name.clear();
  return judge_path(rule, std::move(start), 0);
}

}  // namespace

// Numbers are equal by value, so that 1 and 1.0 are the same; the order of members has no meaning.
bool same_value(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return compare(a, b) == 0;
  if (a.as_string() && b.as_string()) return *a.as_string() == *b.as_string();
  if (a.as_bool() && b.as_bool()) return *a.as_bool() == *b.as_bool();
  if (a.as_array() && b.as_array())
    return std::equal(a.as_array()->begin(), a.as_array()->end(), b.as_array()->begin(),
                      b.as_array()->end(), same_value);
  if (a.as_object() && b.as_object()) {
    if (a.as_object()->size() != b.as_object()->size()) return false;
    return std::all_of(a.as_object()->begin(), a.as_object()->end(),
                       [&](const Value::Member& member) {
                         const Value* other = b.find(member.first);
                         return other && same_value(member.second, *other);
                       });
  }
  return a.is_null() && b.is_null();
}

// Judges twice: the first time without words, since most calls pass and sentences are expensive.
std::optional<Objection> object(const ToolRule& rule, const Value& arguments) {
  Scope scope{.root = &arguments};
  if (!judge(rule, scope).may_fail) return std::nullopt;
  Reason reason;
  scope.reason = &reason;
  (void)judge(rule, scope);
  // A combination is told as a whole: which of its parts failed says little.
  if (reason.words.empty()) reason.words = rule.sentence;
  return Objection{std::move(reason.words), std::move(reason.hint)};
}

}  // namespace paddock::policy
