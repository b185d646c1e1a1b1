// Small text helpers that several parts share.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "paddock/error.h"

namespace paddock {

inline std::string to_text(std::string_view text) { return std::string(text); }
inline std::string to_text(const char* text) { return text; }
inline std::string to_text(const std::string& text) { return text; }
inline std::string to_text(char character) { return std::string(1, character); }
template <class T>
  requires std::is_arithmetic_v<T>
std::string to_text(T number) {
  return std::to_string(number);
}

// cat("open '", path, "': ", 3) → one string.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string text;
  ((text += to_text(parts)), ...);
  return text;
}

// "what: strerror(number)", with a code that fits the errno.
Error errno_error(int number, std::string_view what, std::string hint = "");

std::vector<std::string> split(std::string_view text, char separator);
// Split at any white space, without empty parts. (Streams would do it too, and cost every start
// their set-up.)
std::vector<std::string> words_in(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
bool same_ignoring_case(std::string_view a, std::string_view b);  // ASCII letters

// The candidate nearest to `word`, or empty when none is near enough to be what was meant.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// Bytes from a program or a file name, made safe to show in a terminal or a log: control
// characters, escape sequences, line breaks, bidirectional overrides and invalid UTF-8 become
// visible \x.. or \u.... escapes.
std::string printable(std::string_view bytes);

// `bytes` as valid UTF-8, invalid sequences replaced by U+FFFD. `changed` (if given) says whether
// any were.
std::string to_utf8(std::string_view bytes, bool* changed = nullptr);

std::string base64(std::string_view bytes);

// "3.2M", "512K": at most one decimal, 1024-based; exact multiples have none.
std::string human_size(uint64_t bytes);

}  // namespace paddock
