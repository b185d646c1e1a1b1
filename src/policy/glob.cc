#include "policy/glob.h"

#include <vector>

namespace paddock::policy {

namespace {

constexpr size_t kNone = std::string_view::npos;

// Returns the position after the ']' of the class that opens at pattern[at], or kNone if it never
// closes. Then '[' is a plain byte.
size_t class_end(std::string_view pattern, size_t at) {
  size_t first = at + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  // A ']' right after the opening is a member.
  size_t close = first < pattern.size() ? pattern.find(']', first + 1) : kNone;
  return close == kNone ? kNone : close + 1;
}

// Ranges compare unsigned bytes, so that names in UTF-8 behave the same on every platform.
bool class_contains(std::string_view members, char c) {
  auto byte = [](char character) { return static_cast<unsigned char>(character); };
  for (size_t i = 0; i < members.size(); ++i) {
    bool range = i + 2 < members.size() && members[i + 1] == '-';
    if (!range && members[i] == c) return true;
    if (range && byte(members[i]) <= byte(c) && byte(c) <= byte(members[i + 2])) return true;
    if (range) i += 2;
  }
  return false;
}

// Matches the one element at pattern[at] against c; the length of the element, or 0 when it does
// not match.
size_t match_one(std::string_view pattern, size_t at, char c) {
  if (pattern[at] == '?') return 1;
  size_t end = pattern[at] == '[' ? class_end(pattern, at) : kNone;
  if (end == kNone) return pattern[at] == c ? 1 : 0;
  std::string_view members = pattern.substr(at + 1, end - at - 2);
  bool negated = members[0] == '!' || members[0] == '^';
  if (negated) members.remove_prefix(1);
  return class_contains(members, c) != negated ? end - at : 0;
}

// Going back to the last star alone is enough: an earlier star could only have taken more of what
// the later one can.
bool label_matches(std::string_view pattern, std::string_view label) {
  size_t p = 0, t = 0, star = kNone, star_text = 0;
  while (t < label.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (size_t length = p < pattern.size() ? match_one(pattern, p, label[t]) : 0) {
      p += length;
      ++t;
    } else if (star != kNone) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// Splits at slashes. Empty labels are dropped, so that "a//b" and "a/b" match the same patterns.
std::vector<std::string_view> labels_of(std::string_view text) {
  std::vector<std::string_view> labels;
  while (!text.empty()) {
    size_t slash = text.find('/');
    if (slash != 0) labels.push_back(text.substr(0, slash));
    if (slash == kNone) break;
    text.remove_prefix(slash + 1);
  }
  return labels;
}

}  // namespace

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != kNone; }

bool glob_matches(std::string_view pattern_text, std::string_view path) {
  if (pattern_text.empty() || path.empty()) return pattern_text == path;
  std::vector<std::string_view> pattern = labels_of(pattern_text), labels = labels_of(path);
  bool anywhere = !pattern.empty() && pattern[0] == "**" && pattern_text[0] != '/';
  if (!anywhere && (pattern_text[0] == '/') != (path[0] == '/')) return false;

  // The same walk as in label_matches, one level up: ** is the star, labels are the bytes.
  size_t p = 0, t = 0, star = kNone, star_label = 0;
  while (t < labels.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      star = p++;
      star_label = t;
    } else if (p < pattern.size() && label_matches(pattern[p], labels[t])) {
      ++p;
      ++t;
    } else if (star != kNone) {
      p = star + 1;
      t = ++star_label;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == "**") ++p;
  return p == pattern.size();
}

}  // namespace paddock::policy
