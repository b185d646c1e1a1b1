// References inside a schema are URIs (RFC 3986): split, and resolved against what is around them.
// Nothing is fetched.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paddock::schema {

struct Uri {
  std::string scheme;  // empty in a relative reference
  std::optional<std::string> authority;
  std::string path;
  std::optional<std::string> query;
  std::optional<std::string> fragment;

  // Takes any text apart; whether its characters are right is for format.cc.
  static Uri parse(std::string_view text);
  std::string text() const;
};

Uri resolve(const Uri& base, const Uri& reference);  // RFC 3986, 5.2

}  // namespace paddock::schema
