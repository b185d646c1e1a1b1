// One entry of a tool's `rules`, compiled: conditions on one parameter, and combinations of them.
//
//   { param = "to", ends_with = "@company.com", why = "only inside the company" }
//   { param = "path", any = [{ path_under = "/srv" }, { one_of = ["/etc/hosts"] }] }
//   { when = { param = "mode", one_of = ["delete"] }, param = "path", path_under = "/tmp" }
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "policy/cursor.h"
#include "policy/network/rule.h"
#include "policy/path.h"
#include "schema/pattern.h"

namespace paddock::policy {

enum class Test : uint8_t {
  starts_with,
  not_starts_with,
  ends_with,
  not_ends_with,
  contains,
  not_contains,
  matches,
  one_of,
  not_one_of,
  min,
  max,
  min_length,
  max_length,
  path_under,
  host_in,
  command_in,
};

struct Condition {
  Test test = Test::one_of;
  std::vector<std::string> texts;  // any of them will do
  // Beside texts: what is looked for in tidied paths; empty: nothing.
  std::vector<std::string> tidied;
  std::vector<Value> values;  // of one_of and not_one_of
  Value number;               // of min and max
  uint64_t length = 0;
  std::optional<std::string> from;  // of path_under: where relative paths start
  std::vector<NetworkRule> hosts;
  std::vector<std::vector<std::string>> commands;  // the words that one starts with
  std::vector<schema::Pattern> patterns;
  std::string words;  // what it compares with: "'@company.com'"
};

struct ToolRule {
  std::string param;              // as it is written; empty: that of the rule around it
  std::vector<std::string> path;  // its steps: "filter", "to", "[]"
  bool optional = false;
  std::string why;
  std::vector<Condition> conditions;
  std::vector<ToolRule> any, all, none;  // `none` holds the one of `not`
  std::vector<ToolRule> when;            // one, or none
  // Says something about the parameter of the rule around it.
  bool needs_target = false;
  std::string sentence;  // "to must end with '@company.com'"
};

std::string words_of(const Condition& condition);  // "end with '@company.com'"

// Checks the entry and makes a rule of it.
Result<ToolRule> compile_rule(const Cursor& entry);
Value rule_schema();  // such an entry as JSON Schema

struct Objection {
  std::string words;  // without the rule's `why`
  std::string hint;
};
// Empty: the arguments keep to the rule.
std::optional<Objection> object(const ToolRule& rule, const Value& arguments);

// As JSON values: numbers by what they are, tables in any order.
bool same_value(const Value& a, const Value& b);

}  // namespace paddock::policy
