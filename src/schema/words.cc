#include "schema/words.h"

#include <algorithm>

#include "base/text.h"
#include "schema/index.h"
#include "schema/number.h"

namespace paddock::schema {

namespace {

// Bounds of what a message shows: values of a list, and bytes of a list and of a path.
constexpr size_t kMostShown = 12;
constexpr size_t kLongestList = 300;
constexpr size_t kLongestPath = 400;

// A key that can be written as a member in a path, without quotes.
bool is_plain(std::string_view key) {
  if (key.empty() || key.size() > 60) return false;
  for (char c : key)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_' &&
        c != '-' && c != '$')
      return false;
  return true;
}

// From the outermost step to the innermost; the places are linked the other way.
std::vector<const Place*> downwards(const Place* place) {
  std::vector<const Place*> steps;
  for (; place && (place->key || place->above); place = place->above) steps.push_back(place);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace

// The bits of program.h. A whole number counts as an integer even if it was written as 5.0.
uint8_t type_of(const Value& value) {
  if (value.as_string()) return kString;
  if (value.as_object()) return kObject;
  if (value.as_array()) return kArray;
  if (value.as_bool()) return kBoolean;
  if (value.is_null()) return kNull;
  return is_integer(value) ? kInteger : kNumber;
}

// An integer is not named beside a number, which includes it.
std::string name_of(uint8_t types) {
  static constexpr std::pair<uint8_t, const char*> kNames[] = {
      {kString, "a string"},   {kNumber, "a number"}, {kInteger, "an integer"},
      {kBoolean, "a boolean"}, {kArray, "an array"},  {kObject, "an object"},
      {kNull, "null"}};
  std::vector<std::string> names;
  for (const auto& [type, name] : kNames)
    if ((types & type) && !(type == kInteger && (types & kNumber))) names.emplace_back(name);
  if (names.size() < 2) return names.empty() ? "nothing" : names[0];
  std::string last = names.back();
  names.pop_back();
  return join(names, ", ") + " or " + last;
}

// Cut at a character's border.
std::string shown_text(std::string_view text, size_t longest) {
  if (text.size() <= longest) return printable(text);
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xc0) == 0x80) --longest;
  return printable(text.substr(0, longest)) + "…";
}

// Long lists end with how many values there are in all.
std::string shown_values(const Value::Array& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i == kMostShown || out.size() > kLongestList)
      return cat(out, " … (", values.size(), " in all)");
    if (i) out += ", ";
    const std::string* text = values[i].as_string();
    bool large = values[i].as_array() || values[i].as_object();
    if (text)
      out += cat("'", shown_text(*text), "'");
    else
      out += large ? shown_text(to_json(values[i])) : to_json(values[i]);
  }
  return out.empty() ? "nothing" : out;
}

// As people write it: items[3].name, and other keys in brackets and quotes.
std::string where(const Place* place) {
  std::string out;
  for (const Place* step : downwards(place)) {
    if (out.size() > kLongestPath) return out + "…";
    if (!step->key)
      out += cat("[", step->index, "]");
    else if (is_plain(*step->key))
      out += cat(out.empty() ? "" : ".", *step->key);
    else
      out += cat("['", shown_text(*step->key), "']");
  }
  return out;
}

// As RFC 6901 has it, but long keys are cut: it is for messages only.
std::string pointer(const Place* place) {
  std::string out;
  for (const Place* step : downwards(place)) {
    if (out.size() > kLongestPath) return out + "…";
    out += step->key ? shown_text(pointer_token(*step->key), 200) : cat("/", step->index);
  }
  return out;
}

// The nearest known name comes first, because most unknown names are misspelled ones.
std::string unknown_property(const std::string& name, const PropertiesRule& rule) {
  constexpr size_t kMostNames = 200, kLongestName = 60;
  std::vector<std::string> names;
  std::string list;
  for (const PropertiesRule::Named& named : rule.named) {
    if (names.size() == kMostNames) break;
    if (named.name.size() <= kLongestName) names.push_back(named.name);
    if (list.size() < kLongestList)
      list += cat(list.empty() ? "" : ", ", shown_text(named.name));
    else if (!ends_with(list, "…"))
      list += ", …";
  }
  bool may_be_slip = name.size() > 2 && name.size() <= kLongestName;
  std::string near = may_be_slip ? nearest(name, names) : "";
  if (!near.empty()) return cat("is not known here: did you mean '", printable(near), "'?");
  return names.empty() ? "is not allowed here" : cat("is not known here: there are ", list);
}

}  // namespace paddock::schema
