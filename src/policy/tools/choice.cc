// Comparison with the values that one_of and not_one_of list.
#include "policy/tools/judge.h"

#include <algorithm>

#include "base/text.h"
#include "policy/tools/readings.h"
#include "policy/tools/rule.h"

namespace paddock::policy {

namespace {

// The types of JSON, without the difference between whole numbers and others.
enum class Kind { null, boolean, number, text, list, table };

Kind kind_of(const Value& value) {
  if (value.as_bool()) return Kind::boolean;
  if (value.as_int() || value.as_double()) return Kind::number;
  if (value.as_string()) return Kind::text;
  if (value.as_array()) return Kind::list;
  return value.as_object() ? Kind::table : Kind::null;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

// Whether somebody who expects a value of this kind could make one of the text.
bool reads_as(std::string_view text, Kind kind) {
  text = trimmed(text);
  if (kind == Kind::number) {
    size_t first = text.find_first_not_of("+-.");
    return first != std::string_view::npos && text[first] >= '0' && text[first] <= '9';
  }
  auto is = [&](const char* word) { return same_ignoring_case(text, word); };
  if (kind == Kind::null) return text.empty() || is("null") || is("none") || is("nil");
  if (kind != Kind::boolean) return false;
  static constexpr const char* kWords[] = {"",  "true", "false", "yes", "no", "on", "off",
                                           "1", "0",    "y",     "n",   "t",  "f"};
  return std::any_of(std::begin(kWords), std::end(kWords), is);
}

// Many programs take 0 and 1 for false and true.
bool is_zero_or_one(const Value& number) {
  return same_value(number, Value(0)) || same_value(number, Value(1));
}

Answer compare(const Value& choice, const Value& value);

// Compares two values of different kinds.
bool could_be_taken_for(const Value& choice, const Value& value) {
  Kind wanted = kind_of(choice), given = kind_of(value);
  if (given == Kind::list || given == Kind::table) return true;  // many take what is inside
  if (wanted == Kind::list)
    return choice.as_array()->size() == 1 && compare(choice.as_array()->front(), value).may_hold;
  if (wanted == Kind::text) return reads_as(*choice.as_string(), given);
  if (given == Kind::text) return reads_as(*value.as_string(), wanted);
  if (wanted == Kind::boolean && given == Kind::number) return is_zero_or_one(value);
  if (wanted == Kind::number && given == Kind::boolean) return is_zero_or_one(choice);
  return false;
}

// A directory's path with and without its last slash is the same path.
std::string without_last_slash(std::string path) {
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The same path, written differently, is another text: not the one that is listed, and not
// certainly another one.
Answer compare_texts(const std::string& choice, const std::string& text) {
  // Programs in C would see only what comes before it.
  if (text.find('\0') != std::string::npos) return kUnclear;
  if (choice == text) return kHolds;
  if (!is_path_text(choice)) return kFails;
  const std::string path = without_last_slash(tidied_path(choice));
  if (is_plain_path(text)) return without_last_slash(text) == path ? kUnclear : kFails;
  Readings readings = readings_of(text, std::nullopt);
  bool same =
      std::any_of(readings.paths.begin(), readings.paths.end(),
                  [&](const std::string& reading) { return without_last_slash(reading) == path; });
  return same || readings.unclear ? kUnclear : kFails;
}

// Lists and tables are compared item by item: one item that cannot be told makes the whole unclear,
// one that differs decides.
Answer compare(const Value& choice, const Value& value) {
  if (kind_of(choice) != kind_of(value))
    return could_be_taken_for(choice, value) ? kUnclear : kFails;
  if (const std::string* text = value.as_string()) return compare_texts(*choice.as_string(), *text);
  Answer result = kHolds;
  if (const Value::Array* list = value.as_array()) {
    const Value::Array& wanted = *choice.as_array();
    if (list->size() != wanted.size()) return kFails;
    for (size_t i = 0; i < list->size() && result.may_hold; ++i)
      result = both(result, compare(wanted[i], (*list)[i]));
    return result;
  }
  if (const Value::Object* table = value.as_object()) {
    if (table->size() != choice.as_object()->size()) return kFails;
    for (const auto& [name, member] : *table) {
      const Value* wanted = choice.find(name);
      result = both(result, wanted ? compare(*wanted, member) : kFails);
      if (!result.may_hold) break;
    }
    return result;
  }
  return answer(same_value(choice, value));
}

}  // namespace

// If no listed value is of the kind of this one, the list says nothing about it, and the answer is
// unclear.
Answer is_one_of(const std::vector<Value>& choices, const Value& value) {
  Answer result = kFails;
  bool of_its_kind = false;
  for (const Value& choice : choices) {
    of_its_kind = of_its_kind || kind_of(choice) == kind_of(value);
    result = either(result, compare(choice, value));
    if (!result.may_fail) return result;
  }
  return of_its_kind ? result : kUnclear;
}

}  // namespace paddock::policy
