// The one file that knows toml++.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include <algorithm>

#include "base/text.h"
#include "base/value.h"

namespace paddock {

namespace {

Result<Value> convert(const toml::node& node, const std::string& name);

Result<Value> convert_table(const toml::table& table, const std::string& name) {
  std::vector<std::pair<const toml::key*, const toml::node*>> members;
  for (auto&& [key, child] : table) members.emplace_back(&key, &child);
  // toml++ sorts by key; errors and output follow the text.
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    auto left = a.first->source().begin, right = b.first->source().begin;
    return left.line != right.line ? left.line < right.line : left.column < right.column;
  });
  Value::Object object;
  for (auto& [key, child] : members) {
    Value value = TRY(convert(*child, name));
    value.line = static_cast<int>(key->source().begin.line);
    object.emplace_back(std::string(key->str()), std::move(value));
  }
  return Value(std::move(object));
}

Result<Value> convert(const toml::node& node, const std::string& name) {
  Value value;
  if (auto* table = node.as_table()) value = TRY(convert_table(*table, name));
  else if (auto* array = node.as_array()) {
    Value::Array items;
    for (auto&& child : *array) items.push_back(TRY(convert(child, name)));
    value = Value(std::move(items));
  } else if (auto* text = node.as_string()) value = Value(text->get());
  else if (auto* integer = node.as_integer()) value = Value(integer->get());
  else if (auto* number = node.as_floating_point()) value = Value(number->get());
  else if (auto* boolean = node.as_boolean()) value = Value(boolean->get());
  else
    return Error{Code::invalid, cat(name, ":", node.source().begin.line, ": dates and times have no meaning here"), ""};
  value.line = static_cast<int>(node.source().begin.line);
  return value;
}

}  // namespace

Result<Value> parse_toml(std::string_view text, const std::string& name) {
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return Error{Code::invalid, cat(name, ":", parsed.error().source().begin.line, ": ", parsed.error().description()), ""};
  return convert(parsed.table(), name);
}

}  // namespace paddock
