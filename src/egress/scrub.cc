#include "egress/scrub.h"

#include <algorithm>
#include <utility>

namespace paddock::egress {

void Scrub::overwrite() {
  for (const std::string& secret : secrets_)
    for (size_t at = held_.find(secret); at != std::string::npos; at = held_.find(secret, at + secret.size()))
      std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), '*');
}

std::string Scrub::feed(std::string_view bytes) {
  held_ += bytes;
  overwrite();
  size_t keep = 0;  // the longest tail that is the beginning of a secret
  for (const std::string& secret : secrets_)
    for (size_t size = std::min(secret.size() - 1, held_.size()); size > keep; --size)
      if (held_.compare(held_.size() - size, size, secret, 0, size) == 0) keep = size;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  return out;
}

std::string Scrub::finish() { return std::exchange(held_, {}); }

std::string scrubbed(std::string_view text, const std::vector<std::string>& secrets) {
  Scrub scrub(secrets);
  std::string out = scrub.feed(text);
  return out + scrub.finish();
}

}  // namespace paddock::egress
