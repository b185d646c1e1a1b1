#include "base/fields.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace paddock {

Fields::Fields(const Value& value, std::string where) : value_(value), where_(std::move(where)) {
  if (!value.as_object())
    error_ = Error{Code::invalid,
                   cat(where_.empty() ? "the request's body" : where_, " must be an object, not ",
                       value.type_name()),
                   ""};
}

void Fields::wrong(std::string_view key, std::string_view why) {
  if (!error_)
    error_ = Error{Code::invalid, cat(where_, where_.empty() ? "" : ".", key, " ", why), ""};
}

const Value* Fields::any(std::string_view key) {
  asked_.emplace_back(key);
  const Value* found = value_.as_object() ? value_.find(key) : nullptr;
  return found && !found->is_null() ? found : nullptr;
}

std::optional<std::string> Fields::text(std::string_view key) {
  const Value* found = any(key);
  if (!found) return std::nullopt;
  if (found->as_string()) return *found->as_string();
  wrong(key, cat("must be a string, not ", found->type_name()));
  return std::nullopt;
}

std::optional<bool> Fields::flag(std::string_view key) {
  const Value* found = any(key);
  if (!found) return std::nullopt;
  if (found->as_bool()) return *found->as_bool();
  wrong(key, cat("must be true or false, not ", found->type_name()));
  return std::nullopt;
}

std::optional<int64_t> Fields::number(std::string_view key, int64_t least, int64_t most) {
  const Value* found = any(key);
  if (!found) return std::nullopt;
  std::optional<int64_t> number;
  if (found->as_int()) number = *found->as_int();
  // JSON of some clients writes whole numbers as 30.0.
  const double* real = found->as_double();
  if (real && std::floor(*real) == *real && std::abs(*real) < 9e15)
    number = static_cast<int64_t>(*real);
  if (!number)
    wrong(key, cat("must be a whole number, not ", found->type_name()));
  else if (*number < least || *number > most)
    wrong(key, cat("must be from ", least, " to ", most));
  else
    return number;
  return std::nullopt;
}

std::map<std::string, std::string> Fields::texts_by_name(std::string_view key) {
  std::map<std::string, std::string> texts;
  const Value* found = any(key);
  if (!found) return texts;
  if (!found->as_object()) {
    wrong(key, cat("must be an object of strings, not ", found->type_name()));
    return texts;
  }
  for (const auto& [name, value] : *found->as_object()) {
    if (value.as_string())
      texts[name] = *value.as_string();
    else
      wrong(key, cat("must have strings only, but '", printable(name), "' is ", value.type_name()));
  }
  return texts;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view key) {
  const Value* found = any(key);
  if (!found) return std::nullopt;
  std::vector<std::string> texts;
  if (!found->as_array()) {
    wrong(key, cat("must be a list of strings, not ", found->type_name()));
    return std::nullopt;
  }
  for (const Value& value : *found->as_array()) {
    if (value.as_string())
      texts.push_back(*value.as_string());
    else
      wrong(key, cat("must have strings only, not ", value.type_name()));
  }
  return texts;
}

// A misspelt member must not be ignored: the caller would believe that it has an effect.
Result<void> Fields::done() const {
  if (error_) return *error_;
  for (const auto& [name, value] : *value_.as_object()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    std::string meant = nearest(name, asked_);
    return Error{
        Code::invalid,
        cat("there is no '", printable(name), "' in ", where_.empty() ? "this request" : where_),
        meant.empty() ? cat("known: ", join(asked_, ", ")) : cat("did you mean '", meant, "'?")};
  }
  return {};
}

}  // namespace paddock
