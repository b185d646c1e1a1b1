#include "policy/decode_tools.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "base/units.h"

namespace paddock::policy {

namespace {

constexpr int kDeepestTool = 32;  // half of what the JSON reader takes, so that a policy shown as JSON reads back
constexpr size_t kLongestName = 128;

bool is_number(const Value& value) { return value.as_int() || value.as_double(); }
double number(const Value& value) { return value.as_int() ? static_cast<double>(*value.as_int()) : *value.as_double(); }

Result<std::string> decode_name(const Cursor& name) {
  std::string text = TRY(name.text());
  bool plain = !text.empty() && text.size() <= kLongestName;
  for (char c : text) plain = plain && c > ' ' && c < 0x7f;
  if (!plain) return name.wrong(cat("'", printable(text), "' is not a tool's name"), "up to 128 characters, without spaces");
  return text;
}

// "10/minute"
Result<void> check_rate(const Cursor& rate) {
  static const std::vector<std::string> kPeriods = {"second", "minute", "hour", "day"};
  std::string text = TRY(rate.text());
  size_t slash = text.find('/');
  if (slash == std::string::npos) return rate.wrong(cat("'", printable(text), "' is not a rate"), "write it like 10/minute");
  Result<uint64_t> count = parse_count(std::string_view(text).substr(0, slash));
  if (!count || count.value() == 0)
    return rate.wrong(cat("'", printable(text), "' does not start with a whole number above zero"), "write it like 10/minute");
  std::string period = text.substr(slash + 1);
  if (std::find(kPeriods.begin(), kPeriods.end(), period) == kPeriods.end())
    return rate.wrong(cat("'", printable(period), "' is not one of ", join(kPeriods, ", ")), suggestion(period, kPeriods));
  return {};
}

Result<void> check_condition(const Cursor& condition) {
  const Value& value = condition.value();
  const std::string& key = condition.key();
  if (key == "one_of") {
    std::vector<Cursor> choices = TRY(condition.items());
    if (choices.empty()) return condition.wrong("an empty list: no value could pass");
    for (const Cursor& choice : choices)
      if (!choice.value().as_string() && !choice.value().as_bool() && !is_number(choice.value()))
        return choice.wrong(cat("must be a string, a number or a boolean, not ", choice.value().type_name()));
    return {};
  }
  if (key == "min" || key == "max") {
    if (!is_number(value)) return condition.wrong(cat("must be a number, not ", value.type_name()));
    return {};
  }
  if (key == "max_length") {
    if (!value.as_int() || *value.as_int() < 0) return condition.wrong("must be a whole number, not below zero");
    return {};
  }
  if (TRY(condition.text()).empty()) return condition.wrong("an empty string");
  return {};
}

Result<void> check_rule(const Cursor& rule) {
  TRY(rule.is_table_of({"param", "why", "starts_with", "not_starts_with", "ends_with", "not_ends_with", "matches", "one_of",
                        "max_length", "min", "max"}));
  std::optional<Cursor> param = rule.find("param");
  if (!param) return rule.wrong("'param' is missing", "name the parameter that the rule is about");
  bool has_condition = false;
  for (const Cursor& member : TRY(rule.members())) {
    if (member.key() == "param" || member.key() == "why") {
      if (TRY(member.text()).empty()) return member.wrong("an empty string");
      continue;
    }
    has_condition = true;
    TRY(check_condition(member));
  }
  if (!has_condition) return rule.wrong("says nothing about its parameter", "add a condition such as starts_with or one_of");
  std::optional<Cursor> min = rule.find("min"), max = rule.find("max");
  if (min && max && number(min->value()) > number(max->value())) return max->wrong("is below 'min': no value could pass");
  return {};
}

Result<void> check_encodable(const Cursor& cursor, int depth) {
  if (depth > kDeepestTool) return cursor.wrong("nested too deeply");
  const Value& value = cursor.value();
  // The largest doubles round up to infinity in JSON's 15 digits.
  if (value.as_double() && !(std::fabs(*value.as_double()) < 1e308)) return cursor.wrong("a number out of range");
  if (value.as_object())
    for (const Cursor& member : TRY(cursor.members())) TRY(check_encodable(member, depth + 1));
  if (value.as_array())
    for (const Cursor& item : TRY(cursor.items())) TRY(check_encodable(item, depth + 1));
  return {};
}

// Keys in order, so that the same entry written differently is the same text.
Value sorted(const Value& value) {
  if (const Value::Array* array = value.as_array()) {
    Value::Array items;
    for (const Value& item : *array) items.push_back(sorted(item));
    return Value(std::move(items));
  }
  if (value.as_double() && *value.as_double() == 0) return Value(0);  // -0.0 would come back from its JSON as 0
  const Value::Object* object = value.as_object();
  if (!object) return value;
  Value::Object members;
  for (const auto& [key, member] : *object) members.emplace_back(key, sorted(member));
  std::sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return Value(std::move(members));
}

Result<ToolPolicy> decode_tool(const Cursor& tool) {
  TRY(tool.is_table_of({"name", "rate", "schema", "rules"}));
  TRY(check_encodable(tool, 0));
  std::optional<Cursor> name = tool.find("name");
  if (!name) return tool.wrong("'name' is missing");
  ToolPolicy policy{.name = TRY(decode_name(*name)), .json = to_json(sorted(tool.value()))};
  if (std::optional<Cursor> rate = tool.find("rate")) TRY(check_rate(*rate));
  if (std::optional<Cursor> schema = tool.find("schema"); schema && !schema->value().as_object())
    return schema->wrong(cat("must be a table (a JSON schema), not ", schema->value().type_name()));
  if (std::optional<Cursor> rules = tool.find("rules"))
    for (const Cursor& rule : TRY(rules->items())) TRY(check_rule(rule));
  return policy;
}

}  // namespace

Result<std::vector<ToolPolicy>> decode_tools(const Cursor& tools) {
  std::vector<ToolPolicy> policies;
  std::set<std::string> names;
  for (const Cursor& tool : TRY(tools.items())) {
    policies.push_back(TRY(decode_tool(tool)));
    if (!names.insert(policies.back().name).second)
      return tool.wrong(cat("a second entry for the tool '", policies.back().name, "'"), "put its rules into one entry");
  }
  return policies;
}

}  // namespace paddock::policy
