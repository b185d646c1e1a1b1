// A rate in bytes per second. Callers report the bytes they have moved, and learn how long to wait
// before they move more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/token_bucket.h"
#include "egress/io.h"

namespace paddock::egress {

class Rate {
 public:
  explicit Rate(uint64_t per_second = 0)  // 0: as fast as it goes
      : per_second_(per_second),
        bucket_(static_cast<double>(per_second), static_cast<double>(per_second) * kGrace) {}

  // How much to move at once: small enough that a slow rate does not come in gusts.
  size_t block(size_t most) const {
    if (per_second_ == 0) return most;
    return static_cast<size_t>(std::min<uint64_t>(std::max<uint64_t>(per_second_ / 50, 512), most));
  }

  // The time that `bytes` take at this rate runs from when the bytes before them were paid for.
  Milliseconds spend(uint64_t bytes, Milliseconds now) {
    if (per_second_ == 0) return 0;
    return bucket_.spend(static_cast<double>(bytes), now);
  }

 private:
  // Seconds: what was not used in the last instants may be used now.
  static constexpr double kGrace = 0.020;
  uint64_t per_second_;
  TokenBucket bucket_;
};

}  // namespace paddock::egress
