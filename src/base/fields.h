// The members of a JSON object from outside, taken one by one: a wrong type or a member that nobody
// asked for is an error.
//
//   Fields fields(body);
//   std::string name = fields.text("name").value_or("");
//   if (Result<void> read = fields.done(); !read) …
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

namespace paddock {

class Fields {
 public:
  // `where` names the object in messages ("limits"); empty means the body of a request. `value`
  // must outlive this.
  explicit Fields(const Value& value, std::string where = "");

  // Unset when the member is missing or null.
  std::optional<std::string> text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  std::optional<int64_t> number(std::string_view key, int64_t least = INT64_MIN,
                                int64_t most = INT64_MAX);
  std::map<std::string, std::string> texts_by_name(std::string_view key);
  std::optional<std::vector<std::string>> texts(std::string_view key);
  const Value* any(std::string_view key);  // null pointer when missing

  // Notes an error for a member that has the right type and a wrong value. Only the first counts.
  void wrong(std::string_view key, std::string_view why);
  // The first thing that was wrong, or the first member that nobody asked for. Call it after all
  // others.
  Result<void> done() const;

 private:
  const Value& value_;
  std::string where_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
};

}  // namespace paddock
