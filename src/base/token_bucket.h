// A bucket of tokens that fills steadily: how often something may be done, or how many bytes may be
// moved. Times are milliseconds of any clock that does not go backwards.
//
//   TokenBucket bucket(50, 100);  // 50 a second, and up to 100 at once
//   if (!bucket.take(loop.now())) return;
#pragma once

#include <algorithm>
#include <cstdint>

namespace paddock {

class TokenBucket {
 public:
  // Begins full. It holds `most` tokens.
  TokenBucket(double per_second, double most)
      : per_second_(per_second), most_(most), tokens_(most) {}

  // Takes a token. False if there is none.
  bool take(int64_t now_ms) {
    fill(now_ms);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  // Takes tokens for what was done already, whether they are there or not. Returns how many
  // milliseconds to wait before doing more.
  int64_t spend(double tokens, int64_t now_ms) {
    fill(now_ms);
    tokens_ -= tokens;
    return tokens_ < 0 ? static_cast<int64_t>(-tokens_ * 1000 / per_second_) : 0;
  }

  // The tokens that are there now. Negative if more was spent than there was.
  double tokens(int64_t now_ms) const {
    double filled = per_second_ * static_cast<double>(now_ms - filled_ms_) / 1000;
    return std::min(most_, tokens_ + filled);
  }

 private:
  void fill(int64_t now_ms) {
    tokens_ = tokens(now_ms);
    filled_ms_ = now_ms;
  }

  double per_second_, most_, tokens_;
  int64_t filled_ms_ = 0;
};

}  // namespace paddock
