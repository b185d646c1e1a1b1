#include "policy/secret.h"

#include <algorithm>

#include "base/text.h"
#include "policy/identifier.h"

namespace paddock::policy {

namespace {

// A secret is where it is kept, or the secret itself. The canonical form has a prefix wherever a
// reader could confuse the two.
constexpr std::string_view kEnvironment = "env:", kFile = "file:", kLiteral = "literal:";
// Shorter ones stand in ordinary output by chance, and could not be told from it.
constexpr size_t kShortestLiteral = 8;

// A longer word of letters and digits may well be a token.
constexpr size_t kLongestPlainName = 15;

// The message never quotes the text: it may be the secret itself.
Error refuse(std::string_view why, std::string hint) {
  return Error{Code::invalid, cat("the secret ", why), std::move(hint)};
}

bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }

// ghp_16C7e42F292c6912E7 could be a variable's name and is a token. Taken for a name it would be
// shown everywhere.
bool looks_like_a_token(std::string_view word) {
  auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return word.size() > kLongestPlainName && std::any_of(word.begin(), word.end(), is_lower) &&
         std::any_of(word.begin(), word.end(), is_digit);
}

}  // namespace

// A plain word is taken for a variable's name, everything else for the secret. What could be either
// is refused.
Result<std::string> canonical_secret(std::string_view text, const PathContext& paths) {
  if (starts_with(text, kEnvironment)) {
    if (!is_identifier(text.substr(kEnvironment.size())))
      return refuse("has no variable's name behind 'env:'",
                    "letters, digits and _, not starting with a digit");
    return std::string(text);
  }
  if (starts_with(text, kFile))
    return cat(kFile, TRY(absolute_path(text.substr(kFile.size()), paths)));
  if (starts_with(text, kLiteral)) return literal_secret(text.substr(kLiteral.size()));
  if (is_identifier(text)) {
    if (looks_like_a_token(text))
      return refuse("could be a variable's name or the secret itself",
                    "write env:NAME or literal:SECRET, or put it into a file and write file:PATH");
    return cat(kEnvironment, text);
  }
  return literal_secret(text);
}

// Returns the canonical form, with "literal:" in front where the value would read as something
// else.
Result<std::string> literal_secret(std::string_view value) {
  if (value == kHiddenSecret)
    return refuse("is what 'paddock policy' shows in place of one", "write env:NAME or file:PATH");
  if (!std::all_of(value.begin(), value.end(), is_printable_ascii))
    return refuse("is not printable ASCII", "");
  if (value.size() < kShortestLiteral)
    return refuse(cat("is shorter than ", kShortestLiteral, " characters"),
                  "write env:NAME or file:PATH if it is kept there");
  bool is_ambiguous = is_identifier(value) || starts_with(value, kEnvironment) ||
                      starts_with(value, kFile) || starts_with(value, kLiteral);
  return cat(is_ambiguous ? kLiteral : "", value);
}

std::string literal_value(std::string_view canonical) {
  return std::string(starts_with(canonical, kLiteral) ? canonical.substr(kLiteral.size())
                                                      : canonical);
}

// For a value that was read from a variable or a file: it must keep the same rules as a literal.
bool is_usable_secret(std::string_view value) {
  return value.size() >= kShortestLiteral &&
         std::all_of(value.begin(), value.end(), is_printable_ascii);
}

bool is_literal_secret(std::string_view canonical) {
  return !starts_with(canonical, kEnvironment) && !starts_with(canonical, kFile);
}

std::string shown_secret(const std::string& canonical) {
  return is_literal_secret(canonical) ? kHiddenSecret : canonical;
}

}  // namespace paddock::policy
