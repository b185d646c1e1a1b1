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
  // Any of them will do.
  std::vector<std::string> texts;
  // Beside texts: what is looked for in tidied paths; empty: nothing.
  std::vector<std::string> tidied;
  // For one_of and not_one_of.
  std::vector<Value> values;
  // For min and max.
  Value number;
  // For min_length and max_length, in code points or items.
  uint64_t length = 0;
  // For path_under: where relative paths start. Unset: they are refused.
  std::optional<std::string> from;
  std::vector<NetworkRule> hosts;
  // The words that an allowed command starts with.
  std::vector<std::vector<std::string>> commands;
  std::vector<schema::Pattern> patterns;
  // What the value is compared with, such as "'@company.com'".
  std::string words;
};

struct ToolRule {
  // As it is written. Empty: that of the rule around it.
  std::string param;
  // The steps to it: "filter", "to", "[]".
  std::vector<std::string> path;
  // The rule says nothing about arguments without the parameter.
  bool optional = false;
  std::string why;
  std::vector<Condition> conditions;
  // `none` holds the one rule of `not`.
  std::vector<ToolRule> any, all, none;
  // At most one.
  std::vector<ToolRule> when;
  // Says something about the parameter of the rule around it.
  bool needs_target = false;
  // For example "to must end with '@company.com'".
  std::string sentence;
};

// For example "end with '@company.com'".
std::string words_of(const Condition& condition);

// Checks the entry and makes a rule of it.
Result<ToolRule> compile_rule(const Cursor& entry);

// The JSON Schema of such an entry.
Value rule_schema();

struct Objection {
  // Without the rule's `why`.
  std::string words;
  std::string hint;
};
// Returns nothing if the arguments keep to the rule.
std::optional<Objection> object(const ToolRule& rule, const Value& arguments);

// Compares as JSON does: numbers by value, tables in any order.
bool same_value(const Value& a, const Value& b);

}  // namespace paddock::policy
