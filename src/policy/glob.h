// Patterns for paths, as in .gitignore:
//   **   as a whole label: any number of directories, also none
//   *    any text within one label, a leading dot included
//   ?    one byte within a label
//   [a-z] [!a]   one byte out of a class, or not out of it
// A pattern that starts with `/` is held against absolute paths; one that starts with `**/` against
// any path; any other against paths relative to the same root. There is no escape: [*] stands for a
// plain star.
#pragma once

#include <string_view>

namespace paddock::policy {

bool is_glob(std::string_view text);

// Time is bounded by the product of the two lengths, squared; no pattern makes it explode.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace paddock::policy
