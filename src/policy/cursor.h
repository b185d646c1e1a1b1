// A value of a policy file together with where it stands, so that every complaint names the file,
// the line and the key.
//
//   Cursor limits = …;                       // "agent.toml", line 7, "limits"
//   TRY(limits.is_table_of({"memory"}));     // agent.toml:9: limits.memry: unknown key (did you
//   mean 'memory'?)
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "paddock/error.h"

namespace paddock::policy {

// The line of an entry of a list that is to be passed over (decode_errors).
constexpr int kLeftOut = -1;

class Cursor {
 public:
  // Both must outlive the cursor.
  // Where `complained` is given, it gets the path of what the last complaint was about.
  Cursor(const Value& value, const std::string& file, std::string* complained = nullptr)
      : value_(&value), file_(&file), complained_(complained), line_(value.line) {}

  const Value& value() const { return *value_; }
  // "files.read[2]"; empty for the whole file.
  const std::string& path() const { return path_; }
  int line() const { return line_; }

  // Error{Code::invalid} at this place.
  Error wrong(std::string_view why, std::string hint = "") const;
  Error wrong(const Error& inner) const { return wrong(inner.message, inner.hint); }

  // Fails unless the value is a table and all its keys are among `keys`.
  Result<void> is_table_of(const std::vector<std::string>& keys) const;
  std::optional<Cursor> find(std::string_view key) const;  // in a table
  Result<std::vector<Cursor>> members() const;             // of a table
  // As it stands in the table that holds this value.
  const std::string& key() const { return key_; }

  Result<std::vector<Cursor>> items() const;  // of a list
  Result<std::string> text() const;           // a string without NUL
  // A string out of a fixed set.
  Result<std::string> word_of(const std::vector<std::string>& words) const;
  Result<bool> boolean() const;

  // A list of strings, each passed through `convert`, whose errors get the item's place.
  using Convert = std::function<Result<std::string>(const std::string&)>;
  Result<std::vector<std::string>> texts(const Convert& convert) const;

 private:
  Cursor child(const Value& value, std::string path) const;
  Cursor member(const Value::Member& member) const;

  const Value* value_;
  const std::string* file_;
  std::string* complained_;
  std::string key_, path_;
  int line_;
};

// "did you mean 'memory'?", or empty when nothing is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace paddock::policy
