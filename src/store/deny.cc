#include "store/deny.h"

#include <fnmatch.h>

#include "base/text.h"

namespace paddock::store {

namespace {

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts;
  for (std::string& part : split(path, '/'))
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  return parts;
}

// True if the pattern matches the whole path or a directory above it. One row of a table per pattern component, so
// that no pattern takes exponential time.
bool covers(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  std::vector<bool> reached(path.size() + 1, false);  // the pattern so far matches the first i names
  reached[0] = true;
  for (const std::string& part : pattern) {
    std::vector<bool> next(path.size() + 1, false);
    for (size_t i = 0; i <= path.size(); ++i) {
      if (part == "**") next[i] = reached[i] || (i > 0 && next[i - 1]);
      else if (i > 0) next[i] = reached[i - 1] && ::fnmatch(part.c_str(), path[i - 1].c_str(), FNM_CASEFOLD) == 0;
    }
    reached = std::move(next);
  }
  for (size_t i = 1; i <= path.size(); ++i)
    if (reached[i]) return true;
  return false;
}

}  // namespace

std::string denying_pattern(const std::vector<std::string>& patterns, const std::string& workspace, const std::string& relative) {
  for (const std::string& pattern : patterns) {
    std::vector<std::string> parts = components(pattern);
    if (parts.empty()) return pattern;  // "/"
    if (!starts_with(pattern, "/")) {
      if (covers(parts, components(relative))) return pattern;
      continue;
    }
    if (covers(parts, components(cat(workspace, "/", relative)))) return pattern;
    if (covers(parts, components(cat("/workspace/", relative)))) return pattern;
  }
  return "";
}

}  // namespace paddock::store
