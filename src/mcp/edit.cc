#include "mcp/edit.h"

#include <algorithm>

namespace paddock::mcp {

void put(Value& object, std::string_view key, Value value) {
  if (Value::Object* members = object.as_object())
    for (auto& [name, member] : *members)
      if (name == key) {
        member = std::move(value);
        return;
      }
  object.set(std::string(key), std::move(value));
}

void remove(Value& object, std::string_view key) {
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

}  // namespace paddock::mcp
