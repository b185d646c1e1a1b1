#include "base/value_edit.h"

#include <algorithm>

namespace paddock {

void set_member(Value& object, std::string_view key, Value value) {
  if (Value::Object* members = object.as_object())
    for (auto& [name, member] : *members)
      if (name == key) {
        member = std::move(value);
        return;
      }
  object.set(std::string(key), std::move(value));
}

void remove_member(Value& object, std::string_view key) {
  if (Value::Object* members = object.as_object())
    std::erase_if(*members, [key](const Value::Member& member) { return member.first == key; });
}

const Value* find_path(const Value& object, std::initializer_list<const char*> path) {
  const Value* at = &object;
  for (const char* key : path) {
    at = at->as_object() ? at->find(key) : nullptr;
    if (!at) return nullptr;
  }
  return at;
}

Value sorted_members(const Value& value) {
  if (const Value::Array* items = value.as_array()) {
    Value::Array all;
    for (const Value& item : *items) all.push_back(sorted_members(item));
    return all;
  }
  if (!value.as_object()) return value;
  Value::Object all;
  for (const auto& [key, member] : *value.as_object())
    all.emplace_back(key, sorted_members(member));
  std::sort(all.begin(), all.end(),
            [](const Value::Member& a, const Value::Member& b) { return a.first < b.first; });
  return all;
}

bool operator==(const Value& a, const Value& b) { return to_json(a) == to_json(b); }

}  // namespace paddock
