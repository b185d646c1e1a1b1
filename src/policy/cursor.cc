#include "policy/cursor.h"

#include <algorithm>

#include "base/text.h"
#include "paddock/policy.h"

namespace paddock::policy {

namespace {

// For an unknown key: a near one, the policy's word for a flag's, or the table where a limit
// belongs.
std::string hint_for_key(const std::string& key, const std::vector<std::string>& known) {
  auto is_known = [&](const char* name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  for (const LimitInfo& limit : kLimits) {
    if (key == limit.flag && is_known(limit.name)) return cat("did you mean '", limit.name, "'?");
    if (key == limit.name || key == limit.flag)
      return cat("did you mean 'limits.", limit.name, "'?");
  }
  std::string hint = suggestion(key, known);
  return hint.empty() ? cat("known here: ", join(known, ", ")) : hint;
}

}  // namespace

// Only the beginning of the word is compared: it comes from a file and may be of any length.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  std::string meant = nearest(word.substr(0, 64), candidates);
  return meant.empty() ? "" : cat("did you mean '", meant, "'?");
}

Error Cursor::wrong(std::string_view why, std::string hint) const {
  std::string place = printable(*file_);
  if (line_ > 0) place += cat(":", line_);
  if (!path_.empty()) place += cat(": ", path_);
  if (complained_) *complained_ = path_;
  return Error{Code::invalid, cat(place, ": ", why), std::move(hint)};
}

// A value without a line of its own, as one made by a program, is reported at the line of the value
// around it.
Cursor Cursor::child(const Value& value, std::string path) const {
  Cursor cursor = *this;
  cursor.value_ = &value;
  cursor.path_ = std::move(path);
  if (value.line > 0) cursor.line_ = value.line;
  return cursor;
}

Cursor Cursor::member(const Value::Member& member) const {
  Cursor cursor =
      child(member.second, cat(path_, path_.empty() ? "" : ".", printable(member.first)));
  cursor.key_ = member.first;
  return cursor;
}

// Every unknown key is an error: a misspelled restriction must not be ignored silently.
Result<void> Cursor::is_table_of(const std::vector<std::string>& keys) const {
  for (const Cursor& member : TRY(members())) {
    if (std::find(keys.begin(), keys.end(), member.key()) == keys.end())
      return member.wrong("unknown key", hint_for_key(member.key(), keys));
  }
  return {};
}

std::optional<Cursor> Cursor::find(std::string_view key) const {
  const Value::Object* object = value_->as_object();
  if (!object) return std::nullopt;
  for (const Value::Member& entry : *object)
    if (entry.first == key) return member(entry);
  return std::nullopt;
}

Result<std::vector<Cursor>> Cursor::members() const {
  const Value::Object* object = value_->as_object();
  if (!object) return wrong(cat("must be a table, not ", value_->type_name()));
  std::vector<Cursor> members;
  for (const Value::Member& entry : *object) members.push_back(member(entry));
  return members;
}

// Entries that decode_errors() took out are skipped, and the others keep their original numbers.
Result<std::vector<Cursor>> Cursor::items() const {
  const Value::Array* array = value_->as_array();
  if (!array) return wrong(cat("must be a list, not ", value_->type_name()));
  std::vector<Cursor> items;
  for (size_t i = 0; i < array->size(); ++i)
    if ((*array)[i].line != kLeftOut) items.push_back(child((*array)[i], cat(path_, "[", i, "]")));
  return items;
}

// A NUL is refused here once, because later uses of the text as a path or an argument stop at it.
Result<std::string> Cursor::text() const {
  const std::string* text = value_->as_string();
  if (!text) return wrong(cat("must be a string, not ", value_->type_name()));
  if (text->find('\0') != std::string::npos) return wrong("contains a NUL byte");
  return *text;
}

Result<std::string> Cursor::word_of(const std::vector<std::string>& words) const {
  std::string word = TRY(text());
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  std::string hint = suggestion(word, words);
  return wrong(cat("'", printable(word), "' is not one of ", join(words, ", ")), hint);
}

Result<bool> Cursor::boolean() const {
  const bool* value = value_->as_bool();
  if (!value) return wrong(cat("must be true or false, not ", value_->type_name()));
  return *value;
}

Result<std::vector<std::string>> Cursor::texts(const Convert& convert) const {
  std::vector<std::string> texts;
  for (const Cursor& item : TRY(items())) {
    Result<std::string> converted = convert(TRY(item.text()));
    if (!converted) return item.wrong(converted.error());
    texts.push_back(std::move(converted.value()));
  }
  return texts;
}

}  // namespace paddock::policy
