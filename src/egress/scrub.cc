#include "egress/scrub.h"

#include <algorithm>
#include <utility>

namespace paddock::egress {

// Secrets may overlap, so they are looked for in what came, and overwritten in what is shown.
std::string Scrub::feed(std::string_view bytes) {
  raw_ += bytes;
  shown_ += bytes;
  size_t keep = 0;  // the longest tail that is the beginning of a secret
  for (const std::string& secret : secrets_) {
    for (size_t at = raw_.find(secret); at != std::string::npos; at = raw_.find(secret, at + 1))
      shown_.replace(at, secret.size(), secret.size(), '*');
    for (size_t size = std::min(secret.size() - 1, raw_.size()); size > keep; --size)
      if (raw_.compare(raw_.size() - size, size, secret, 0, size) == 0) keep = size;
  }
  std::string out = shown_.substr(0, shown_.size() - keep);
  raw_.erase(0, out.size());
  shown_.erase(0, out.size());
  return out;
}

std::string Scrub::finish() {
  raw_.clear();
  return std::exchange(shown_, {});
}

std::string scrubbed(std::string_view text, const std::vector<std::string>& secrets) {
  Scrub scrub(secrets);
  std::string out = scrub.feed(text);
  return out + scrub.finish();
}

}  // namespace paddock::egress
