// Overwrites secrets in a stream with stars, byte for byte, so that lengths stay what they were
// announced to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paddock::egress {

// Holds back as much as could be the beginning of a secret, so that one that is split over two
// reads is found as well.
class Scrub {
 public:
  explicit Scrub(std::vector<std::string> secrets = {}) : secrets_(std::move(secrets)) {}

  // What may be passed on of `bytes` and of what was held back before: all but a tail that could
  // begin a secret.
  std::string feed(std::string_view bytes);
  // The rest, at the end of the stream.
  std::string finish();

 private:
  std::vector<std::string> secrets_;
  std::string raw_, shown_;  // what is held back, as it came and as it may be shown
};

std::string scrubbed(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace paddock::egress
