// Schemas and values as text, for the tests beside.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "schema/schema.h"

namespace paddock::schema {

inline Value json(std::string_view text) {
  Result<Value> value = parse_json(text, "test");
  EXPECT_TRUE(value) << text << (value ? "" : value.error().message);
  return value ? value.value() : Value();
}

// "fits", "where: why", or "refused: …" if the schema is.
inline std::string verdict_on(const Value& value, std::string_view schema) {
  Result<Schema> compiled = Schema::compile(json(schema));
  if (!compiled) return "refused: " + compiled.error().message;
  std::optional<Violation> wrong = compiled.value().check(value);
  EXPECT_EQ(wrong.has_value(), !compiled.value().check_all(value).empty());
  return wrong ? cat(wrong->where, ": ", wrong->why) : "fits";
}
inline std::string verdict(std::string_view schema, std::string_view value) {
  return verdict_on(json(value), schema);
}

inline bool fits(std::string_view schema, std::string_view value) {
  std::string said = verdict(schema, value);
  EXPECT_FALSE(starts_with(said, "refused")) << said;
  return said == "fits";
}

// Every value of `good` must fit the schema, and none of `bad`.
inline void expect(std::string_view schema, const std::vector<std::string>& good,
                   const std::vector<std::string>& bad) {
  for (const std::string& value : good)
    EXPECT_EQ(verdict(schema, value), "fits") << schema << " " << value;
  for (const std::string& value : bad) EXPECT_FALSE(fits(schema, value)) << schema << " " << value;
}

}  // namespace paddock::schema
