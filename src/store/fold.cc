#include "store/fold.h"

#include <algorithm>

namespace paddock::store {

std::string lower_ascii(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string folded_name(const std::string& name) {
  std::string folded = lower_ascii(name);
  folded.resize(std::min(folded.size(), folded.find(':')));  // NTFS: an alternate stream
  while (!folded.empty() && (folded.back() == '.' || folded.back() == ' ')) folded.pop_back();
  if (folded == "git~1") return ".git";  // NTFS: the short name
  return folded.empty() ? name : folded;
}

}  // namespace paddock::store
