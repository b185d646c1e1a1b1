// One table of fields per struct, for both directions: what is written is what can be read.
//
//   struct Volume { std::string name; uint64_t quota = 0; bool read_only = false; };
//   constexpr auto kVolumeFields = std::make_tuple(
//       field("name", &Volume::name),
//       field("quota", &Volume::quota, Presence::optional),
//       field("read_only", &Volume::read_only, Presence::optional));
//
//   Value value = write_record(kVolumeFields, volume);
//   TRY(read_record(kVolumeFields, value, volume, "a volume's record"));
//
// Kinds of fields: texts, whole numbers, reals, flags, Value, sets of texts, and lists, maps by
// name and optionals of these. For other types declare `Value to_field(const T&)` and `bool
// from_field(const Value&, T&)` in the namespace of T. Enums are written by name: see `names_of`
// below.
#pragma once

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "base/value.h"

namespace paddock {

enum class Presence : uint8_t {
  required,  // reading fails where it is missing
  optional,  // missing: the struct keeps what it had
  sparse,    // as optional, and not written while it has the value of a new struct
};

// The key of a member in JSON, and the member itself.
template <class Struct, class Member>
struct Field {
  const char* key;
  Member Struct::*place;
  Presence presence;
};

template <class Struct, class Member>
constexpr Field<Struct, Member> field(const char* key, Member Struct::*place,
                                      Presence presence = Presence::required) {
  return {key, place, presence};
}

inline Value to_field(const Value& value) { return value; }
inline Value to_field(const std::string& text) { return text; }
inline Value to_field(bool flag) { return flag; }
inline Value to_field(double number) { return number; }
template <std::integral Number>
  requires(!std::same_as<Number, bool>)
Value to_field(Number number) {
  if constexpr (std::signed_integral<Number>) return static_cast<int64_t>(number);
  return static_cast<uint64_t>(number);
}

inline bool from_field(const Value& value, Value& into) {
  into = value;
  return true;
}
inline bool from_field(const Value& value, std::string& into) {
  if (value.as_string()) into = *value.as_string();
  return value.as_string();
}
inline bool from_field(const Value& value, bool& into) {
  if (value.as_bool()) into = *value.as_bool();
  return value.as_bool();
}
inline bool from_field(const Value& value, double& into) {
  if (value.as_int()) into = static_cast<double>(*value.as_int());
  if (value.as_double()) into = *value.as_double();
  return value.as_int() || value.as_double();
}
template <std::integral Number>
  requires(!std::same_as<Number, bool>)
bool from_field(const Value& value, Number& into) {
  if (!value.as_int() || !std::in_range<Number>(*value.as_int())) return false;
  into = static_cast<Number>(*value.as_int());
  return true;
}

// An enum whose names stand in a table, in the order of its values from 0 on:
//   constexpr const char* kStates[] = {"open", "closed"};
//   inline auto& names_of(State) { return kStates; }
template <class Enum>
  requires std::is_enum_v<Enum>
Value to_field(Enum value) {
  return names_of(value)[static_cast<size_t>(value)];
}
template <class Enum>
  requires std::is_enum_v<Enum>
bool from_field(const Value& value, Enum& into) {
  if (!value.as_string()) return false;
  size_t index = 0;
  for (const char* name : names_of(into)) {
    if (*value.as_string() == name) {
      into = static_cast<Enum>(index);
      return true;
    }
    ++index;
  }
  return false;
}

template <class Item>
Value to_field(const std::vector<Item>& items) {
  Value::Array list;
  for (const Item& item : items) list.push_back(to_field(item));
  return list;
}
template <class Item>
bool from_field(const Value& value, std::vector<Item>& into) {
  if (!value.as_array()) return false;
  std::vector<Item> items;
  for (const Value& entry : *value.as_array()) {
    Item item{};
    if (!from_field(entry, item)) return false;
    items.push_back(std::move(item));
  }
  into = std::move(items);
  return true;
}

inline Value to_field(const std::set<std::string>& texts) {
  return text_list({texts.begin(), texts.end()});
}
inline bool from_field(const Value& value, std::set<std::string>& into) {
  std::vector<std::string> texts;
  if (!from_field(value, texts)) return false;
  into = {texts.begin(), texts.end()};
  return true;
}

template <class Item>
Value to_field(const std::map<std::string, Item>& items) {
  Value table{Value::Object{}};
  for (const auto& [name, item] : items) table.set(name, to_field(item));
  return table;
}
template <class Item>
bool from_field(const Value& value, std::map<std::string, Item>& into) {
  if (!value.as_object()) return false;
  std::map<std::string, Item> items;
  for (const auto& [name, entry] : *value.as_object())
    if (!from_field(entry, items[name])) return false;
  into = std::move(items);
  return true;
}

template <class Item>
Value to_field(const std::optional<Item>& item) {
  return item ? to_field(*item) : Value();
}
template <class Item>
bool from_field(const Value& value, std::optional<Item>& into) {
  Item item{};
  if (!from_field(value, item)) return false;
  into = std::move(item);
  return true;
}

// Adds the fields of `from` to the object `into`. An unset optional is left out.
template <class... Fields, class Struct>
void write_fields(const std::tuple<Fields...>& fields, const Struct& from, Value& into) {
  auto write = [&](const auto& field) {
    if constexpr (requires { from.*field.place == from.*field.place; })
      if (field.presence == Presence::sparse && from.*field.place == Struct{}.*field.place) return;
    Value value = to_field(from.*field.place);
    if constexpr (requires { (from.*field.place).has_value(); })
      if (value.is_null()) return;
    into.set(field.key, std::move(value));
  };
  std::apply([&](const auto&... each) { (write(each), ...); }, fields);
}

template <class... Fields, class Struct>
Value write_record(const std::tuple<Fields...>& fields, const Struct& from) {
  Value value{Value::Object{}};
  write_fields(fields, from, value);
  return value;
}

// Reads the fields of `into`; `what` names the record in errors ("a volume's record"). A member
// that is null counts as missing. Members that no field names are left to the caller.
template <class... Fields, class Struct>
Result<void> read_record(const std::tuple<Fields...>& fields, const Value& value, Struct& into,
                         std::string_view what) {
  if (!value.as_object())
    return Error{Code::invalid, cat("read ", what, ": not an object but ", value.type_name()), ""};
  const char* wrong = nullptr;
  auto read = [&](const auto& field) {
    const Value* found = value.find(field.key);
    bool missing = !found || found->is_null();
    if (missing ? field.presence == Presence::required : !from_field(*found, into.*field.place))
      wrong = wrong ? wrong : field.key;
  };
  std::apply([&](const auto&... each) { (read(each), ...); }, fields);
  if (!wrong) return {};
  return Error{Code::invalid, cat("read ", what, ": '", wrong, "' is missing or malformed"), ""};
}

}  // namespace paddock
