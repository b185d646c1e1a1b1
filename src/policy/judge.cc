// Whether arguments keep to a rule.
//
// A condition may hold for one reading of a value and fail for another (a path can be written in many ways), or for one item of a list
// and not for the next. So it has two answers, "may hold" and "may fail", and a rule is kept only when it cannot fail. `not` swaps the
// two: what cannot be told passes neither a condition nor its opposite.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "policy/command_line.h"
#include "policy/readings.h"
#include "policy/tool_rule.h"
#include "policy/url.h"

namespace paddock::policy {

namespace {

struct Answer {
  bool may_hold = false, may_fail = false;
  friend Answer operator|(Answer a, Answer b) { return {a.may_hold || b.may_hold, a.may_fail || b.may_fail}; }
};
constexpr Answer kHolds{true, false}, kFails{false, true}, kUnclear{true, true};
Answer answer(bool holds) { return holds ? kHolds : kFails; }
Answer opposite(Answer answer) { return {answer.may_fail, answer.may_hold}; }

// The first thing that is wrong, in words. Made only once it is known that something is.
struct Reason {
  std::string words, hint;
};

struct Place {
  const Value* root;              // the arguments
  const Value* target = nullptr;  // what conditions are about
  std::string name;               // "to[1]"; empty where nobody asks
  bool missing_fails = false;     // inside `when`: a parameter that is not there does not hold
  Reason* reason = nullptr;
};

const char* json_type(const Value& value) { return value.as_object() ? "an object" : value.is_null() ? "null" : value.type_name(); }

void complain(const Place& place, std::string words, std::string hint = "") {
  if (place.reason && place.reason->words.empty()) *place.reason = {std::move(words), std::move(hint)};
}

Answer wrong_type(const Place& place, const char* wanted) {
  if (place.reason) complain(place, cat(place.name, " must be ", wanted, ", not ", json_type(*place.target)));
  return kUnclear;
}

// ---- numbers and values ------------------------------------------------------------------------------------------

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

// ---- conditions --------------------------------------------------------------------------------------------------

bool any_text(const Condition& condition, bool (*test)(std::string_view, std::string_view), std::string_view value) {
  return std::any_of(condition.texts.begin(), condition.texts.end(), [&](const std::string& text) { return test(value, text); });
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void complain_about_reading(const Place& place, const Readings& readings, std::string_view value, const Condition& condition) {
  if (!place.reason) return;
  if (readings.unclear) return complain(place, cat(place.name, " ", readings.unclear, ", so it cannot be judged by where it leads"), "write an absolute path, plainly");
  std::vector<std::string> others;
  for (const std::string& path : readings.paths)
    if (path != value && others.size() < 3) others.push_back(cat("'", printable(path.substr(0, 120)), "'"));
  complain(place, cat(place.name, " must ", words_of(condition), others.empty() ? "" : cat(" (it can be read as ", join(others, " or "), ")")));
}

Answer starts_as_path(const Condition& condition, std::string_view value, const Place& place) {
  bool paths = std::any_of(condition.texts.begin(), condition.texts.end(), [](const std::string& text) { return text[0] == '/'; });
  // A directory is reached with and without its last slash: "/system" is not outside of "/system/".
  auto is_the_directory = [](std::string_view path, std::string_view text) { return text.size() == path.size() + 1 && text.back() == '/' && starts_with(text, path); };
  auto starts = [&](std::string_view path) {
    if (any_text(condition, starts_with, path)) return kHolds;
    return paths && any_text(condition, is_the_directory, path) ? kUnclear : kFails;
  };
  if (!paths || is_plain_path(value)) return starts(value);
  Readings readings = readings_of(value, std::nullopt);
  Answer result = readings.unclear ? kUnclear : starts(value);
  for (const std::string& path : readings.paths) result = result | starts(path);
  complain_about_reading(place, readings, value, condition);
  return result;
}

Answer lies_beneath(const Condition& condition, std::string_view value, const Place& place) {
  Readings readings = readings_of(value, condition.from ? std::optional<std::string_view>(*condition.from) : std::nullopt);
  Answer result = readings.unclear ? kUnclear : Answer{};
  if (readings.relative && !condition.from && !readings.unclear) {
    complain(place, cat(place.name, " must be an absolute path"), cat("write a path that lies beneath ", condition.words));
    result = kUnclear;
  }
  for (std::string& path : readings.paths) {
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    result = result | answer(any_text(condition, [](std::string_view path, std::string_view directory) { return contains_path(directory, path); }, path));
  }
  complain_about_reading(place, readings, value, condition);
  return result;
}

Answer leads_to(const Condition& condition, std::string_view value, const Place& place) {
  Result<Target> target = parse_target(value);
  if (!target) {
    if (place.reason) complain(place, cat(place.name, " must be an URL or a host that can be judged: ", target.error().message), target.error().hint);
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

Answer runs_only(const Condition& condition, const Place& place) {
  auto unclear = [&](const Error& error) {
    if (place.reason) complain(place, cat(place.name, " cannot be judged: ", error.message), error.hint);
    return kUnclear;
  };
  std::vector<Command> commands;
  if (const std::string* line = place.target->as_string()) {
    Result<std::vector<Command>> parsed = commands_in(*line);
    if (!parsed) return unclear(parsed.error());
    commands = std::move(parsed).value();
  } else if (const Value::Array* words = place.target->as_array()) {
    Command& command = commands.emplace_back();
    for (const Value& word : *words) {
      if (!word.as_string()) return wrong_type(place, "a command line or a list of strings");
      command.push_back(*word.as_string());
    }
  } else {
    return wrong_type(place, "a command line or a list of strings");
  }
  Answer result;
  for (const Command& command : commands) {
    Result<void> plain = check_command(command);
    if (!plain) return unclear(plain.error());
    bool listed = std::any_of(condition.commands.begin(), condition.commands.end(), [&](const Command& entry) {
      return entry.size() <= command.size() && std::equal(entry.begin(), entry.end(), command.begin());
    });
    if (!listed && place.reason) complain(place, cat(place.name, " must run nothing but ", condition.words, ", not '", printable(command[0].substr(0, 80)), "'"));
    result = result | answer(listed);
  }
  return result;
}

Answer is_one_of(const Condition& condition, const Value& value) {
  auto is_value = [&](const Value& choice) { return same_value(choice, value); };
  bool exact = std::any_of(condition.values.begin(), condition.values.end(), is_value);
  const std::string* text = value.as_string();
  if (exact || !text || is_plain_path(*text)) return answer(exact);
  auto is_path = [](const Value& choice) { return choice.as_string() && starts_with(*choice.as_string(), "/"); };
  if (std::none_of(condition.values.begin(), condition.values.end(), is_path)) return kFails;
  // The same path, written differently, is another text: not the one that is listed, and not certainly another one.
  Readings readings = readings_of(*text, std::nullopt);
  if (readings.unclear) return kUnclear;
  for (const std::string& path : readings.paths)
    if (std::any_of(condition.values.begin(), condition.values.end(), [&](const Value& choice) { return is_path(choice) && *choice.as_string() == path; })) return kUnclear;
  return kFails;
}

std::optional<uint64_t> length_of(const Value& value) {
  if (const Value::Array* list = value.as_array()) return list->size();
  const std::string* text = value.as_string();
  if (!text) return std::nullopt;
  return static_cast<uint64_t>(std::count_if(text->begin(), text->end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Answer check(const Condition& condition, const Place& place) {
  const Value& value = *place.target;
  switch (condition.test) {
    case Test::one_of: return is_one_of(condition, value);
    case Test::not_one_of: return opposite(is_one_of(condition, value));
    case Test::command_in: return runs_only(condition, place);
    case Test::min:
    case Test::max: {
      if (!is_number(value)) return wrong_type(place, "a number");
      std::optional<int> order = compare(value, condition.number);
      if (!order) return kUnclear;
      return answer(condition.test == Test::min ? *order >= 0 : *order <= 0);
    }
    case Test::min_length:
    case Test::max_length: {
      std::optional<uint64_t> length = length_of(value);
      if (!length) return wrong_type(place, "a string or a list");
      return answer(condition.test == Test::min_length ? *length >= condition.length : *length <= condition.length);
    }
    default: break;
  }
  const std::string* text = value.as_string();
  if (!text) return wrong_type(place, "a string");
  // Programs in C would see only what stands in front of it.
  if (text->find('\0') != std::string::npos) {
    if (place.reason) complain(place, cat(place.name, " contains a NUL byte"));
    return kUnclear;
  }
  switch (condition.test) {
    case Test::starts_with: return starts_as_path(condition, *text, place);
    case Test::not_starts_with: return opposite(starts_as_path(condition, *text, place));
    case Test::ends_with: return answer(any_text(condition, ends_with, *text));
    case Test::not_ends_with: return answer(!any_text(condition, ends_with, *text));
    case Test::contains: return answer(any_text(condition, contains, *text));
    case Test::not_contains: return answer(!any_text(condition, contains, *text));
    case Test::matches: return answer(std::any_of(condition.patterns.begin(), condition.patterns.end(), [&](const schema::Pattern& pattern) { return pattern.matches(*text); }));
    case Test::path_under: return lies_beneath(condition, *text, place);
    case Test::host_in: return leads_to(condition, *text, place);
    default: return kUnclear;
  }
}

// ---- rules -------------------------------------------------------------------------------------------------------

Answer judge(const ToolRule& rule, const Place& place);

// Says what must hold of a target; `place` has one unless nothing here is about it.
Answer judge_target(const ToolRule& rule, Place place) {
  if (!rule.when.empty() && rule.when[0].needs_target) {
    Place condition = place;
    condition.missing_fails = true;
    condition.reason = nullptr;
    if (!judge(rule.when[0], condition).may_hold) return {};
  }
  Answer result = kHolds;
  auto both = [](Answer a, Answer b) { return Answer{a.may_hold && b.may_hold, a.may_fail || b.may_fail}; };
  for (const Condition& condition : rule.conditions) {
    Place here = place;
    Reason details;
    if (place.reason) here.reason = &details;
    Answer one = check(condition, here);
    if (one.may_fail && place.reason) {
      if (details.words.empty()) details.words = cat(place.name, " must ", words_of(condition));
      complain(place, std::move(details.words), std::move(details.hint));
    }
    result = both(result, one);
  }
  for (const ToolRule& inner : rule.all) result = both(result, judge(inner, place));
  place.reason = nullptr;  // behind this the rule's own sentence says more
  if (!rule.any.empty()) {
    Answer any{false, true};
    for (const ToolRule& inner : rule.any) {
      Answer one = judge(inner, place);
      any = {any.may_hold || one.may_hold, any.may_fail && one.may_fail};
    }
    result = both(result, any);
  }
  for (const ToolRule& inner : rule.none) result = both(result, opposite(judge(inner, place)));
  return result;
}

// Every value that the path leads to, one after the other.
Answer judge_path(const ToolRule& rule, Place place, size_t step) {
  if (step == rule.path.size()) return judge_target(rule, std::move(place));
  const std::string& name = rule.path[step];
  const Value& here = *place.target;
  if (name == "[]") {
    const Value::Array* list = here.as_array();
    if (!list) return wrong_type(place, "a list");
    Answer result;
    for (size_t i = 0; i < list->size(); ++i) {
      Place item = place;
      item.target = &(*list)[i];
      if (place.reason) item.name = cat(place.name, "[", i, "]");
      result = result | judge_path(rule, std::move(item), step + 1);
    }
    return result;
  }
  if (!here.as_object()) return wrong_type(place, "an object");
  const Value* member = here.find(name);
  if (place.reason) place.name = cat(place.name, place.name.empty() ? "" : ".", printable(name));
  if (!member) {
    if (rule.optional) return {};
    if (place.reason) complain(place, cat(place.name, " is missing"));
    return place.missing_fails ? kFails : kUnclear;
  }
  place.target = member;
  return judge_path(rule, std::move(place), step + 1);
}

Answer judge(const ToolRule& rule, const Place& place) {
  if (!rule.when.empty() && !rule.when[0].needs_target) {
    Place condition = place;
    condition.missing_fails = true;
    condition.reason = nullptr;
    if (!judge(rule.when[0], condition).may_hold) return {};
  }
  if (rule.path.empty()) return judge_target(rule, place);
  Place start = place;
  start.target = place.root;
  start.name.clear();
  return judge_path(rule, std::move(start), 0);
}

}  // namespace

bool same_value(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return compare(a, b) == 0;
  if (a.as_string() && b.as_string()) return *a.as_string() == *b.as_string();
  if (a.as_bool() && b.as_bool()) return *a.as_bool() == *b.as_bool();
  if (a.as_array() && b.as_array()) return std::equal(a.as_array()->begin(), a.as_array()->end(), b.as_array()->begin(), b.as_array()->end(), same_value);
  if (a.as_object() && b.as_object()) {
    if (a.as_object()->size() != b.as_object()->size()) return false;
    return std::all_of(a.as_object()->begin(), a.as_object()->end(), [&](const Value::Member& member) {
      const Value* other = b.find(member.first);
      return other && same_value(member.second, *other);
    });
  }
  return a.is_null() && b.is_null();
}

std::optional<Objection> object(const ToolRule& rule, const Value& arguments) {
  Place place{.root = &arguments};
  if (!judge(rule, place).may_fail) return std::nullopt;
  Reason reason;
  place.reason = &reason;
  (void)judge(rule, place);
  // A combination is told as a whole: which of its parts failed says little.
  if (reason.words.empty()) reason.words = rule.sentence;
  return Objection{std::move(reason.words), std::move(reason.hint)};
}

}  // namespace paddock::policy
