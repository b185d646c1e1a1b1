#include "base/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace paddock {

Value::Value(uint64_t value) {
  if (value <= INT64_MAX)
    data_ = static_cast<int64_t>(value);
  else
    data_ = static_cast<double>(value);
}

const char* Value::type_name() const {
  static const char* kNames[] = {"null",     "a boolean", "a whole number", "a number",
                                 "a string", "a list",    "a table"};
  return kNames[data_.index()];
}

const Value* Value::find(std::string_view key) const {
  const Object* object = as_object();
  if (!object) return nullptr;
  for (const Member& member : *object)
    if (member.first == key) return &member.second;
  return nullptr;
}

void Value::set(std::string key, Value value) {
  if (is_null()) data_ = Object{};
  std::get<Object>(data_).emplace_back(std::move(key), std::move(value));
}

Value text_list(const std::vector<std::string>& texts) {
  return Value::Array(texts.begin(), texts.end());
}

Value text_table(const std::map<std::string, std::string>& texts) {
  Value table{Value::Object{}};
  for (const auto& [name, text] : texts) table.set(name, text);
  return table;
}

std::string text_in(const Value& object, std::string_view key, std::string otherwise) {
  const Value* found = object.find(key);
  return found && found->as_string() ? *found->as_string() : otherwise;
}

int64_t number_in(const Value& object, std::string_view key, int64_t otherwise) {
  const Value* found = object.find(key);
  return found && found->as_int() ? *found->as_int() : otherwise;
}

uint64_t count_in(const Value& object, std::string_view key) {
  return static_cast<uint64_t>(std::max<int64_t>(number_in(object, key), 0));
}

double real_in(const Value& object, std::string_view key, double otherwise) {
  const Value* found = object.find(key);
  if (found && found->as_int()) return static_cast<double>(*found->as_int());
  return found && found->as_double() ? *found->as_double() : otherwise;
}

bool flag_in(const Value& object, std::string_view key, bool otherwise) {
  const Value* found = object.find(key);
  return found && found->as_bool() ? *found->as_bool() : otherwise;
}

std::vector<std::string> texts_in(const Value& object, std::string_view key) {
  std::vector<std::string> texts;
  const Value* found = object.find(key);
  if (found && found->as_array())
    for (const Value& item : *found->as_array())
      if (item.as_string()) texts.push_back(*item.as_string());
  return texts;
}

namespace {

// The shortest text that reads back as the same number: what is passed on must be what was judged.
void write_number(double number, std::string& out) {
  if (!std::isfinite(number)) {  // JSON has no infinity
    out += "null";
    return;
  }
  char text[32];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

// Recursion is safe: a Value is at most as deep as the parser allowed or our own code built it.
void write(const Value& value, int depth, bool indented, std::string& out) {
  auto new_line = [&](int level) {
    if (!indented) return;
    out += '\n';
    out.append(static_cast<size_t>(level) * 2, ' ');
  };
  if (value.is_null())
    out += "null";
  else if (auto* boolean = value.as_bool())
    out += *boolean ? "true" : "false";
  else if (auto* integer = value.as_int())
    out += std::to_string(*integer);
  else if (auto* number = value.as_double())
    write_number(*number, out);
  else if (auto* text = value.as_string())
    append_json_string(*text, out);
  else if (auto* array = value.as_array()) {
    out += '[';
    for (size_t i = 0; i < array->size(); ++i) {
      if (i) out += ',';
      new_line(depth + 1);
      write((*array)[i], depth + 1, indented, out);
    }
    if (!array->empty()) new_line(depth);
    out += ']';
  } else if (auto* object = value.as_object()) {
    out += '{';
    for (size_t i = 0; i < object->size(); ++i) {
      if (i) out += ',';
      new_line(depth + 1);
      append_json_string((*object)[i].first, out);
      out += indented ? ": " : ":";
      write((*object)[i].second, depth + 1, indented, out);
    }
    if (!object->empty()) new_line(depth);
    out += '}';
  }
}

}  // namespace

std::string to_json(const Value& value, bool indented) {
  std::string out;
  write(value, 0, indented, out);
  return out;
}

}  // namespace paddock
