// From an entry of `rules` to a ToolRule. Judging by it is judge.cc's.
#include "policy/tools/rule.h"

#include <algorithm>

#include "base/text.h"
#include "policy/tools/command_line.h"
#include "policy/tools/readings.h"
#include "policy/types.h"

namespace paddock::policy {

namespace {

// Nesting is bounded because judging is recursive.
constexpr int kDeepestRule = 6;

// The last two bound what a sentence shows; kLongestShown is in bytes.
constexpr size_t kMostChoices = 1000, kMostShown = 12, kLongestShown = 120;

// What may stand as the value of a test.
enum class Takes : uint8_t { texts, values, number, length, paths, hosts, commands, patterns };

struct TestInfo {
  Test test;
  const char* key;
  Takes takes;
  // For sentences: "to must end with …", "when to ends with …".
  const char *must, *does;
};
constexpr TestInfo kTests[] = {
    {Test::starts_with, "starts_with", Takes::texts, "start with ", "starts with "},
    {Test::not_starts_with, "not_starts_with", Takes::texts, "not start with ",
     "does not start with "},
    {Test::ends_with, "ends_with", Takes::texts, "end with ", "ends with "},
    {Test::not_ends_with, "not_ends_with", Takes::texts, "not end with ", "does not end with "},
    {Test::contains, "contains", Takes::texts, "contain ", "contains "},
    {Test::not_contains, "not_contains", Takes::texts, "not contain ", "does not contain "},
    {Test::matches, "matches", Takes::patterns, "match as a whole ", "matches as a whole "},
    {Test::one_of, "one_of", Takes::values, "be ", "is "},
    {Test::not_one_of, "not_one_of", Takes::values, "not be ", "is not "},
    {Test::min, "min", Takes::number, "be at least ", "is at least "},
    {Test::max, "max", Takes::number, "be at most ", "is at most "},
    {Test::min_length, "min_length", Takes::length, "have a length of at least ",
     "has a length of at least "},
    {Test::max_length, "max_length", Takes::length, "have a length of at most ",
     "has a length of at most "},
    {Test::path_under, "path_under", Takes::paths, "lie beneath ", "lies beneath "},
    {Test::host_in, "host_in", Takes::hosts, "lead to ", "leads to "},
    {Test::command_in, "command_in", Takes::commands, "run nothing but ", "runs nothing but "},
};

// Cuts at a boundary of UTF-8, so that the sentence stays valid.
std::string shown(const Value& value) {
  std::string text =
      value.as_string() ? cat("'", printable(*value.as_string()), "'") : to_json(value);
  if (text.size() <= kLongestShown) return text;
  size_t cut = kLongestShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return cat(std::string_view(text).substr(0, cut), "…");
}

std::string alternatives(std::vector<std::string> parts) {
  if (parts.size() > kMostShown) {
    size_t more = parts.size() - kMostShown;
    parts.resize(kMostShown);
    parts.push_back(cat(more, " more"));
  }
  return join(parts, " or ");
}

// A string, or a list of them.
Result<std::vector<Cursor>> one_or_more(const Cursor& cursor) {
  if (!cursor.value().as_array()) return std::vector<Cursor>{cursor};
  std::vector<Cursor> items = TRY(cursor.items());
  if (items.empty()) return cursor.wrong("an empty list: no value could pass");
  if (items.size() > kMostChoices) return cursor.wrong(cat("more than ", kMostChoices, " entries"));
  return items;
}

bool is_number(const Value& value) { return value.as_int() || value.as_double(); }

// Checks one text and keeps it in the form that judging needs. For commands, a program that runs
// others is refused here: listing it would allow everything.
Result<void> take_text(const Cursor& item, Takes takes, Condition& condition) {
  std::string text = TRY(item.text());
  if (text.empty()) return item.wrong("an empty string");
  if (takes == Takes::patterns) {
    Result<schema::Pattern> pattern = schema::Pattern::compile(text, true);
    if (!pattern) return item.wrong(pattern.error());
    condition.patterns.push_back(std::move(pattern).value());
  }
  if (takes == Takes::paths) {
    Result<std::string> path = absolute_path(text, {});
    if (!path) return item.wrong(path.error());
    text = path.value();
  }
  if (takes == Takes::hosts) {
    Result<NetworkRule> host = parse_network_rule(text);
    if (!host) return item.wrong(host.error());
    text = to_string(host.value());
    condition.hosts.push_back(std::move(host).value());
  }
  if (takes == Takes::commands) {
    Result<std::vector<Command>> commands = commands_in(text);
    if (!commands || commands.value().size() != 1)
      return item.wrong(cat("'", printable(text), "' is not one plain command"),
                        "write it like \"git\" or \"git status\"");
    const Command& command = commands.value()[0];
    if (const char* why = runs_other_commands(command[0]))
      return item.wrong(
          cat("'", printable(command[0]), "' ", why),
          "listing it would allow every command: leave the rule out if that is meant");
    condition.commands.push_back(command);
  }
  condition.texts.push_back(std::move(text));
  return {};
}

// How a text with a slash looks in a tidied path. "//system/" at the beginning of one is
// "/system/", "src/" is "/src/" (relative paths are read from the root), and "/home/." stays, for
// it is the beginning of "/home/.ssh".
std::string tidied_beginning(std::string_view text) {
  size_t name = text.rfind('/') + 1;
  std::string path = tidied_path(text.substr(0, name));
  return cat(path, ends_with(path, "/") ? "" : "/", text.substr(name));
}

// Elsewhere in it. Empty: it has no name, or dots that tidying takes away, and can be found only in
// what is not tidied.
std::string tidied_part(std::string_view text) {
  bool has_name = false;
  for (const std::string& label : split(text, '/')) {
    if (label == "." || label == "..") return "";
    has_name = has_name || !label.empty();
  }
  if (!has_name) return "";
  std::string path = tidied_path(text);
  return starts_with(text, "/") ? path : path.substr(1);
}

// Also makes the words of the condition, once, so that judging need not.
Result<Condition> compile_condition(const Cursor& cursor, const TestInfo& info) {
  Condition condition;
  condition.test = info.test;
  std::vector<std::string> parts;
  if (info.takes == Takes::values) {
    if (!cursor.value().as_array())
      return cursor.wrong(cat("must be a list, not ", cursor.value().type_name()));
    for (const Cursor& item : TRY(one_or_more(cursor))) {
      condition.values.push_back(item.value());
      parts.push_back(shown(item.value()));
    }
  } else if (info.takes == Takes::number) {
    if (!is_number(cursor.value()))
      return cursor.wrong(cat("must be a number, not ", cursor.value().type_name()));
    condition.number = cursor.value();
    parts.push_back(shown(cursor.value()));
  } else if (info.takes == Takes::length) {
    const int64_t* length = cursor.value().as_int();
    if (!length || *length < 0) return cursor.wrong("must be a whole number, not below zero");
    condition.length = static_cast<uint64_t>(*length);
    parts.push_back(std::to_string(*length));
  } else {
    for (const Cursor& item : TRY(one_or_more(cursor))) TRY(take_text(item, info.takes, condition));
    bool beginning = info.test == Test::starts_with || info.test == Test::not_starts_with;
    for (const std::string& text : condition.texts) {
      parts.push_back(shown(Value(text)));
      condition.tidied.push_back(!is_path_text(text) ? ""
                                 : beginning         ? tidied_beginning(text)
                                                     : tidied_part(text));
    }
  }
  condition.words = alternatives(std::move(parts));
  return condition;
}

// "filter.path", "to[]", "items[].name"
Result<std::vector<std::string>> parse_param(const Cursor& param) {
  std::string text = TRY(param.text());
  std::vector<std::string> steps;
  for (std::string name : split(text, '.')) {
    std::vector<std::string> lists;
    while (ends_with(name, "[]")) {
      name.resize(name.size() - 2);
      lists.push_back("[]");
    }
    if (name.empty() || name.find_first_of("[]") != std::string::npos)
      return param.wrong(cat("'", printable(text), "' is not a parameter's name"),
                         "write it like to, filter.path or to[] (every item of a list)");
    steps.push_back(std::move(name));
    steps.insert(steps.end(), lists.begin(), lists.end());
  }
  if (steps.size() > 32) return param.wrong("reaches too deep");
  return steps;
}

// Relies on kTests having the order of the enum.
const TestInfo& info_of(Test test) { return kTests[static_cast<size_t>(test)]; }

std::string phrase(const ToolRule& rule, bool must);

// "path must …" of a rule with a parameter of its own; of another only what it says about the one
// around it.
std::string clause(const ToolRule& rule, bool must) {
  std::string text = rule.param.empty()
                         ? phrase(rule, must)
                         : cat(rule.param, must ? " must " : " ", phrase(rule, must));
  return rule.when.empty() ? text : cat("when ", clause(rule.when[0], false), ": ", text);
}

// Says what the rule demands, without the name of the parameter.
std::string phrase(const ToolRule& rule, bool must) {
  std::vector<std::string> parts;
  for (const Condition& condition : rule.conditions)
    parts.push_back(
        cat(must ? info_of(condition.test).must : info_of(condition.test).does, condition.words));
  auto group = [&](const std::vector<ToolRule>& rules, const char* between) {
    std::vector<std::string> clauses;
    for (const ToolRule& inner : rules) clauses.push_back(clause(inner, must));
    if (!clauses.empty())
      parts.push_back(clauses.size() == 1 ? clauses[0] : cat("(", join(clauses, between), ")"));
  };
  group(rule.any, " or ");
  group(rule.all, " and ");
  for (const ToolRule& inner : rule.none) parts.push_back(cat("not (", clause(inner, must), ")"));
  return join(parts, " and ");
}

Result<ToolRule> compile_at(const Cursor& entry, int depth, bool has_param);

Result<std::vector<ToolRule>> compile_list(const Cursor& list, int depth, bool has_param) {
  std::vector<ToolRule> rules;
  for (const Cursor& item : TRY(list.items()))
    rules.push_back(TRY(compile_at(item, depth, has_param)));
  if (rules.empty()) return list.wrong("an empty list");
  if (rules.size() > kMostChoices) return list.wrong(cat("more than ", kMostChoices, " entries"));
  return rules;
}

// Bounds that no value can meet are a mistake, and would deny every call.
Result<void> check_bounds(const Cursor& entry) {
  auto number = [](const Cursor& cursor) {
    return cursor.value().as_int() ? static_cast<double>(*cursor.value().as_int())
                                   : *cursor.value().as_double();
  };
  for (auto [low, high] : {std::pair("min", "max"), std::pair("min_length", "max_length")}) {
    std::optional<Cursor> least = entry.find(low), most = entry.find(high);
    if (least && most && number(*least) > number(*most))
      return most->wrong(cat("is below '", low, "': no value could pass"));
  }
  return {};
}

// `has_param` says whether a rule around this one names a parameter, which conditions then are
// about. A condition without any parameter is an error.
Result<ToolRule> compile_at(const Cursor& entry, int depth, bool has_param) {
  if (depth > kDeepestRule) return entry.wrong("rules nested too deeply");
  std::vector<std::string> keys = {"param", "why", "optional", "from", "any", "all", "not", "when"};
  for (const TestInfo& test : kTests) keys.push_back(test.key);
  TRY(entry.is_table_of(keys));
  ToolRule rule;
  if (auto param = entry.find("param")) {
    rule.path = TRY(parse_param(*param));
    rule.param = TRY(param->text());
  }
  bool known = has_param || !rule.param.empty();
  if (auto why = entry.find("why")) {
    rule.why = TRY(why->text());
    if (rule.why.empty()) return why->wrong("an empty string");
    if (depth > 0) return why->wrong("stands inside a combination", "put it into the rule itself");
  }
  if (auto optional = entry.find("optional")) {
    if (rule.param.empty()) return optional->wrong("stands without 'param'");
    rule.optional = TRY(optional->boolean());
  }
  for (const TestInfo& test : kTests) {
    std::optional<Cursor> cursor = entry.find(test.key);
    if (!cursor) continue;
    if (!known)
      return entry.wrong("'param' is missing", "name the parameter that the rule is about");
    rule.conditions.push_back(TRY(compile_condition(*cursor, test)));
  }
  TRY(check_bounds(entry));
  if (auto from = entry.find("from")) {
    Result<std::string> path = absolute_path(TRY(from->text()), {});
    if (!path) return from->wrong(path.error());
    auto under =
        std::find_if(rule.conditions.begin(), rule.conditions.end(),
                     [](const Condition& condition) { return condition.test == Test::path_under; });
    if (under == rule.conditions.end()) return from->wrong("stands without 'path_under'");
    under->from = path.value();
  }
  if (auto any = entry.find("any")) rule.any = TRY(compile_list(*any, depth + 1, known));
  if (auto all = entry.find("all")) rule.all = TRY(compile_list(*all, depth + 1, known));
  if (auto none = entry.find("not")) rule.none.push_back(TRY(compile_at(*none, depth + 1, known)));
  if (rule.conditions.empty() && rule.any.empty() && rule.all.empty() && rule.none.empty())
    return entry.wrong("says nothing about its parameter",
                       "add a condition such as starts_with or one_of");
  if (auto when = entry.find("when")) rule.when.push_back(TRY(compile_at(*when, depth + 1, known)));
  auto needs = [](const std::vector<ToolRule>& rules) {
    return std::any_of(rules.begin(), rules.end(),
                       [](const ToolRule& inner) { return inner.needs_target; });
  };
  rule.needs_target =
      rule.param.empty() && (!rule.conditions.empty() || needs(rule.any) || needs(rule.all) ||
                             needs(rule.none) || needs(rule.when));
  bool about_param = !rule.conditions.empty() || needs(rule.any) || needs(rule.all) ||
                     needs(rule.none) || needs(rule.when);
  if (!rule.param.empty() && !about_param)
    return entry.wrong("says nothing about its parameter",
                       "leave 'param' out, or add a condition on it");
  rule.sentence = clause(rule, true);
  return rule;
}

// All tests on texts take one or a list; every entry of it will do.
Value condition_schema(Takes takes) {
  switch (takes) {
    case Takes::values: return object_of({{"type", "array"}});
    case Takes::number: return object_of({{"type", "number"}});
    case Takes::length: return object_of({{"type", "integer"}, {"minimum", 0}});
    case Takes::texts:
    case Takes::paths:
    case Takes::hosts:
    case Takes::commands:
    case Takes::patterns: break;
  }
  return one_or_list_schema(text_schema());
}

}  // namespace

Value rule_schema() {
  Value rule = object_of({{"$ref", "#/$defs/rule"}}), properties{Value::Object{}};
  for (const char* key : {"param", "why", "from"}) properties.set(key, text_schema());
  properties.set("optional", object_of({{"type", "boolean"}}));
  for (const char* key : {"any", "all"}) properties.set(key, list_schema(rule));
  for (const char* key : {"not", "when"}) properties.set(key, rule);
  for (const TestInfo& test : kTests) properties.set(test.key, condition_schema(test.takes));
  return object_of(
      {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}});
}

std::string words_of(const Condition& condition) {
  return cat(info_of(condition.test).must, condition.words);
}

Result<ToolRule> compile_rule(const Cursor& entry) { return compile_at(entry, 0, false); }

}  // namespace paddock::policy
