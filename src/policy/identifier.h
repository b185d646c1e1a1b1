// Names of variables and modules.
#pragma once

#include <algorithm>
#include <string_view>

namespace paddock::policy {

inline bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Accepts what Python and the shell accept for a name, in ASCII.
inline bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), is_word_character);
}

}  // namespace paddock::policy
