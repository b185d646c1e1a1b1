#include "tools/gateway/names.h"

#include "base/text.h"
#include "tools/visible_text.h"

namespace paddock::tools {

namespace {

// In bytes.
constexpr size_t kLongestName = 128, kLongestUri = 4096;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of the "scheme:" at the beginning, if it has valid characters.
size_t scheme_length(std::string_view uri) {
  size_t colon = uri.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(uri[0])) return 0;
  for (char c : uri.substr(0, colon))
    if (!is_letter(c) && !is_digit(c) && c != '+' && c != '-' && c != '.') return 0;
  return colon;
}

}  // namespace

// Returns what is wrong with the name, or an empty text.
std::string name_problem(std::string_view name) {
  if (name.empty()) return "it has no name";
  if (name.size() > kLongestName)
    return cat("its name is longer than ", kLongestName, " characters");
  for (char c : name)
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-' && c != '.')
      return "its name has other characters than letters, digits, '_', '-' and '.'";
  return "";
}

// Written so that two names that a reader could confuse become equal.
std::string look_of(std::string_view name) {
  std::string look;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '0') c = 'o';
    if (c == '1' || c == 'i') c = 'l';
    if (c == '-' || c == '.') c = '_';
    look += c;
  }
  return look;
}

// Templates are checked by the same rules.
std::string uri_problem(std::string_view uri) {
  if (uri.size() > kLongestUri) return cat("its URI is longer than ", kLongestUri, " bytes");
  if (scheme_length(uri) == 0) return "its URI does not begin with a scheme";
  if (same_ignoring_case(uri.substr(0, scheme_length(uri)), "paddock"))
    return "paddock: is Paddock's own";
  if (has_hidden(uri) || uri.find_first_of(" \t\n") != std::string_view::npos)
    return "its URI has invisible characters or spaces";
  return "";
}

// The scheme must be literal: a template that matches every URI would own them all.
Result<UriTemplate> UriTemplate::parse(std::string_view text) {
  Error wrong{Code::invalid, "its URI template cannot be read", ""};
  size_t open = text.find('{');
  if (scheme_length(text) == 0 || scheme_length(text) > open)
    return Error{Code::invalid, "its URI template does not begin with a scheme", ""};
  UriTemplate result;
  while (!text.empty()) {
    open = std::min(text.find('{'), text.size());
    if (open > 0) result.parts_.push_back({.literal = std::string(text.substr(0, open))});
    text.remove_prefix(open);
    if (text.empty()) break;
    size_t close = text.find('}');
    if (close == std::string_view::npos || close < 2) return wrong;
    char first = text[1];
    bool plain = is_letter(first) || is_digit(first) || first == '_' || first == '%';
    result.parts_.push_back({.crosses_slashes = !plain || text[close - 1] == '*'});
    text.remove_prefix(close + 1);
  }
  return result;
}

// All places that the parts so far can reach; work grows with parts times length, whatever the
// template.
bool UriTemplate::matches(std::string_view uri) const {
  if (uri.size() > kLongestUri) return false;
  std::vector<bool> reached(uri.size() + 1, false);
  reached[0] = true;
  for (const Part& part : parts_) {
    std::vector<bool> next(uri.size() + 1, false);
    for (size_t i = 0; i <= uri.size(); ++i) {
      if (!part.literal.empty()) {
        if (reached[i] && uri.substr(i, part.literal.size()) == part.literal)
          next[i + part.literal.size()] = true;
        continue;
      }
      if (reached[i]) next[i] = true;
      if (i > 0 && next[i - 1] && (part.crosses_slashes || uri[i - 1] != '/')) next[i] = true;
    }
    reached = std::move(next);
  }
  return reached[uri.size()];
}

}  // namespace paddock::tools
