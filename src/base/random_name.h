// Names that cannot be guessed, and the test that a name is one of them: what is found on disk
// under another name is not ours to remove.
#pragma once

#include <string_view>

namespace paddock {

constexpr std::string_view kRandomNameLetters = "abcdefghijklmnopqrstuvwxyz234567";

// Whether store::random_name(length) could have made `text`.
inline bool is_random_name(std::string_view text, size_t length) {
  return text.size() == length &&
         text.find_first_not_of(kRandomNameLetters) == std::string_view::npos;
}

// Whether `name` is one that store::write_file() uses until a file is complete: ".NAME." and random
// letters.
constexpr size_t kUnfinishedLength = 10;
inline bool is_unfinished(std::string_view name) {
  size_t dot = name.rfind('.');
  return name.substr(0, 1) == "." && dot != 0 &&
         is_random_name(name.substr(dot + 1), kUnfinishedLength);
}

}  // namespace paddock
