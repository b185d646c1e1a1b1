// The formats that are held: whether a text is a date, an address, a URI. docs/json_schema.md has
// the list.
#pragma once

#include <string_view>

namespace paddock::schema {

struct Format {
  std::string_view name;
  std::string_view example;
  bool (*holds)(std::string_view text);
};

// Null for one that is not known, which then says nothing.
const Format* find_format(std::string_view name);

}  // namespace paddock::schema
