// Small changes to JSON objects (Value itself only appends), and comparison.
#pragma once

#include <initializer_list>
#include <string_view>

#include "base/value.h"

namespace paddock {

// Replaces the member in its place, or adds it. A null becomes an object.
void set_member(Value& object, std::string_view key, Value value);
void remove_member(Value& object, std::string_view key);
// Follows the path through members of members. Null if it ends early.
const Value* find_path(const Value& object, std::initializer_list<const char*> path);

// The same value with the members of all objects in it sorted by name.
Value sorted_members(const Value& value);
// Both are written as the same JSON, with the members of objects in the same order.
bool operator==(const Value& a, const Value& b);

}  // namespace paddock
