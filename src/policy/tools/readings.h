// What a text may turn out to mean as a path, by whoever takes it: as it is written, tidied, with
// its percent signs decoded and with backslashes taken for slashes. A rule about a path must hold
// for every reading, or it is got round by writing the path differently. Lexical: what a symbolic
// link leads to is for the sandbox to hold. Letters keep their case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paddock::policy {

struct Readings {
  // As written, decoded, with slashes for backslashes, …, none of them tidied.
  std::vector<std::string> forms;
  // Each absolute and tidied; a trailing slash stays, and one that ends in "." or ".." gets one.
  std::vector<std::string> paths;
  const char* unclear = nullptr;  // why it cannot be judged: "contains a NUL byte"; null: it can
  bool relative = false;          // one reading at least does not start with a slash
};

// `from`: where relative paths start, absolute. Unknown: they stand as if they started at the root,
// and are unclear if they climb.
Readings readings_of(std::string_view text, std::optional<std::string_view> from);

// As the kernel would walk it from the root, without symbolic links; a trailing slash stays.
std::string tidied_path(std::string_view text);

// Whether a text that a rule compares with is about paths: it has a slash, and is not a URL.
bool is_path_text(std::string_view text);

// Whether the text is the only reading of itself: absolute, and nothing in it to tidy or to decode.
bool is_plain_path(std::string_view text);

}  // namespace paddock::policy
