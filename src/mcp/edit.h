// Small changes to JSON objects: Value itself only appends.
#pragma once

#include <string>
#include <string_view>

#include "base/value.h"

namespace paddock::mcp {

void put(Value& object, std::string_view key, Value value);  // replaces; a null becomes an object
void remove(Value& object, std::string_view key);
// Null pointer where it ends.
const Value* find_path(const Value& object, std::initializer_list<const char*> path);

}  // namespace paddock::mcp
