#include "store/deny.h"

#include <algorithm>

#include "base/text.h"
#include "policy/glob.h"

namespace paddock::store {

namespace {

// A pattern that matches a directory covers everything below it.
bool covers(const std::string& pattern, const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1))
    if (policy::glob_matches(pattern, std::string_view(path).substr(0, end))) return true;
  return policy::glob_matches(pattern, path);
}

}  // namespace

// A pattern may have been written for the path inside, on the host, or relative. Case is ignored,
// since the host's filesystem may ignore it.
std::string denying_pattern(const std::vector<std::string>& patterns, const std::string& workspace,
                            const std::string& relative) {
  std::string path = lower_ascii(relative);
  for (const std::string& pattern : patterns) {
    std::string folded = lower_ascii(pattern);
    bool denied = folded == "/" || covers(folded, path) ||
                  covers(folded, cat(lower_ascii(workspace), "/", path)) ||
                  covers(folded, cat("/workspace/", path));
    if (denied) return pattern;
  }
  return "";
}

std::string lower_ascii(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// Folds what filesystems of other systems take for the same name, so that `.GIT` or `.git ` cannot
// pass as something else.
std::string folded_name(const std::string& name) {
  std::string folded = lower_ascii(name);
  folded.resize(std::min(folded.size(), folded.find(':')));  // NTFS: an alternate stream
  while (!folded.empty() && (folded.back() == '.' || folded.back() == ' ')) folded.pop_back();
  if (folded == "git~1") return ".git";  // NTFS: the short name
  return folded.empty() ? name : folded;
}

}  // namespace paddock::store
