// A tree of values read from TOML or JSON, each with the line it was read from, and writing it as
// JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "paddock/error.h"

namespace paddock {

// Objects are lists of members: most are small, and the order of the text is kept for people.
class Value {
 public:
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;  // in the order of the text; keys are unique

  Value() = default;  // null
  Value(bool value) : data_(value) {}
  Value(int64_t value) : data_(value) {}
  Value(int value) : data_(static_cast<int64_t>(value)) {}
  Value(uint64_t value);  // above INT64_MAX it becomes a double
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::move(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(Array value) : data_(std::move(value)) {}
  Value(Object value) : data_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  const bool* as_bool() const { return std::get_if<bool>(&data_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&data_); }
  const double* as_double() const { return std::get_if<double>(&data_); }
  const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  const Array* as_array() const { return std::get_if<Array>(&data_); }
  const Object* as_object() const { return std::get_if<Object>(&data_); }
  Array* as_array() { return std::get_if<Array>(&data_); }
  Object* as_object() { return std::get_if<Object>(&data_); }
  const char* type_name() const;  // "a table", "a string", … for messages

  const Value* find(std::string_view key) const;  // in an object; null pointer if absent
  // Adds to an object (a null value becomes one); does not replace.
  void set(std::string key, Value value);

  int line = 0;  // 1-based; 0 when not read from a text

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> data_;
};

// Strict JSON (RFC 8259): one value, valid UTF-8, no duplicate keys, no trailing text, nesting up
// to 64. `name` stands in front of error messages: "policy.json:3: …".
Result<Value> parse_json(std::string_view text, const std::string& name);

// TOML 1.0. Dates and times are refused: nothing here uses them.
Result<Value> parse_toml(std::string_view text, const std::string& name);

Value text_list(const std::vector<std::string>& texts);             // an array of strings
Value text_table(const std::map<std::string, std::string>& texts);  // an object of strings

// Members of an object whose writer is trusted, or whose shape was checked before. A member that is
// missing or has another type is `otherwise`. Requests from outside are read with Fields
// (base/fields.h), whole structs with a table of fields (base/record.h).
std::string text_in(const Value& object, std::string_view key, std::string otherwise = "");
int64_t number_in(const Value& object, std::string_view key, int64_t otherwise = 0);
uint64_t count_in(const Value& object, std::string_view key);  // a negative number is 0
double real_in(const Value& object, std::string_view key, double otherwise = 0);  // whole ones too
bool flag_in(const Value& object, std::string_view key, bool otherwise = false);
std::vector<std::string> texts_in(const Value& object, std::string_view key);  // strings only

// Appends a string with its quotes and escapes, for callers that write JSON without a Value.
// Invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string_view text, std::string& out);

// JSON on one line, or indented by two spaces. Strings that are not UTF-8 get U+FFFD.
std::string to_json(const Value& value, bool indented = false);

}  // namespace paddock
