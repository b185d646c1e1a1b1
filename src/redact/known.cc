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
  std::string out;
  size_t at = 0;
  while (at < held_.size()) {
    std::string_view rest = std::string_view(held_).substr(at);
    const Secret* whole = nullptr;
    bool could_become = false;
    for (const Secret& secret : secrets_) {
      size_t common = std::min(rest.size(), secret.value.size());
      if (rest.substr(0, common) != std::string_view(secret.value).substr(0, common)) continue;
      if (common == secret.value.size()) whole = whole ? whole : &secret;
      else could_become = true;
    }
    if (could_become && !whole) break;
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

std::string KnownValues::finish() { return std::exchange(held_, {}); }

}  // namespace paddock::redact
