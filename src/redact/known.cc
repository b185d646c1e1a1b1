#include "redact/known.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::redact {

KnownValues::KnownValues(const std::map<std::string, std::string>& secrets) {
  for (const auto& [name, value] : secrets)
    if (value.size() >= 4) secrets_.push_back({value, cat("[redacted:", name, "]")});
  std::sort(secrets_.begin(), secrets_.end(), [](const Secret& a, const Secret& b) { return a.value.size() > b.value.size(); });
}

std::string KnownValues::feed(std::string_view chunk) {
  if (secrets_.empty()) return std::string(chunk);
  held_ += chunk;
  return scan(false);
}

std::string KnownValues::finish() { return scan(true); }

std::string KnownValues::scan(bool at_end) {
  std::string out;
  size_t at = 0;
  while (at < held_.size()) {
    std::string_view rest = std::string_view(held_).substr(at);
    const Secret* whole = nullptr;
    bool could_become_longer = false;
    for (const Secret& secret : secrets_) {
      size_t common = std::min(rest.size(), secret.value.size());
      if (rest.substr(0, common) != std::string_view(secret.value).substr(0, common)) continue;
      if (common == secret.value.size()) {
        whole = &secret;  // the longest: what follows in the list is shorter
        break;
      }
      could_become_longer = true;
    }
    if (could_become_longer && !at_end) break;
    if (whole) {
      out += whole->replacement;
      at += whole->value.size();
      ++count_;
    } else {
      out += held_[at++];
    }
  }
  held_.erase(0, at);
  return out;
}

}  // namespace paddock::redact
