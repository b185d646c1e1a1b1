// A rate in bytes per second. Who has moved bytes says so, and is told how long to wait before
// moving more.
#pragma once

#include <algorithm>
#include <cstdint>

#include "egress/io.h"

namespace paddock::egress {

class Rate {
 public:
  explicit Rate(uint64_t per_second = 0) : per_second_(per_second) {}  // 0: as fast as it goes

  // How much to move at once: small enough that a slow rate does not come in gusts.
  size_t block(size_t most) const {
    if (per_second_ == 0) return most;
    return static_cast<size_t>(std::min<uint64_t>(std::max<uint64_t>(per_second_ / 50, 512), most));
  }

  // The time that `bytes` take at this rate runs from when the bytes before them were paid for.
  Milliseconds spend(uint64_t bytes, Milliseconds now) {
    if (per_second_ == 0) return 0;
    constexpr double kGraceMs = 20;  // what was not used in the last instants may be used now
    paid_until_ = std::max(paid_until_, static_cast<double>(now) - kGraceMs);
    paid_until_ += static_cast<double>(bytes) * 1000 / static_cast<double>(per_second_);
    return std::max<Milliseconds>(0, static_cast<Milliseconds>(paid_until_) - now);
  }

 private:
  uint64_t per_second_;
  double paid_until_ = 0;
};

}  // namespace paddock::egress
