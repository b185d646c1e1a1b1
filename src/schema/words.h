// What is said about a value that does not fit, in words that whoever sent it can act on. Bounded
// and printable: neither a schema nor a value can write what it likes. Values that were sent are
// not repeated, only their types, their sizes and the names of their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/value.h"
#include "schema/program.h"

namespace paddock::schema {

// Where in the value: a list upwards, on the stack of whoever descends.
struct Place {
  const Place* above = nullptr;
  const std::string* key = nullptr;  // null: an item of a list
  size_t index = 0;
};

uint8_t type_of(const Value& value);                   // one bit
std::string name_of(uint8_t types);                    // "a string", "a string or null"
std::string shown_values(const Value::Array& values);  // "'a', 'b', 3", cut
std::string shown_text(std::string_view text, size_t longest = 60);

std::string where(const Place* place);    // items[3].name
std::string pointer(const Place* place);  // /items/3/name

// With the one that may have been meant.
std::string unknown_property(const std::string& name, const PropertiesRule& rule);

}  // namespace paddock::schema
