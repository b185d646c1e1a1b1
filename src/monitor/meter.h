// From two readings of a sandbox's counters to a sample with rates.
#pragma once

#include <optional>

#include "monitor/sampler.h"

namespace paddock::monitor {

// Counters that were read twice become rates. Keeps the reading before.
class Meter {
 public:
  // What was counted before this instant belongs to no rate. If it is not called, the first sample
  // has no rates.
  void begin(const Reading& reading, int64_t now_us);
  // `now_us` is from a monotonic clock, `time_ms` is the time for people.
  UsageSample measure(const Reading& reading, int64_t now_us, int64_t time_ms);

 private:
  void measure_deep(const Reading& reading, int64_t now_us);
  bool is_over(const Reading& reading, int64_t now_us) const;
  void measure_network(const Reading& reading, double seconds, UsageSample& sample) const;

  Reading last_, last_deep_;
  std::optional<int64_t> last_us_, deep_us_;
  // Rates of the expensive part, which hold until it is read again.
  uint64_t read_rate_ = 0, write_rate_ = 0;
  double throttled_percent_ = 0;
};

}  // namespace paddock::monitor
