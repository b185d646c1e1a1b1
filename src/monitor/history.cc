#include "monitor/history.h"

#include <algorithm>
#include <cmath>

namespace paddock::monitor {

namespace {

constexpr uint64_t kUnit = 4096;

// Larger sizes are cut to the largest that fits.
uint32_t units(uint64_t bytes) {
  return static_cast<uint32_t>(std::min<uint64_t>(bytes / kUnit, UINT32_MAX));
}
double rounded(double percent) { return std::round(percent * 10) / 10; }

}  // namespace

History::Brief History::brief(const UsageSample& sample) {
  return {.cpu_percent = static_cast<float>(rounded(sample.cpu_percent)),
          .memory = units(sample.memory),
          .memory_file = units(sample.memory_file),
          .disk = units(sample.disk),
          .pids = static_cast<uint16_t>(std::min<uint64_t>(sample.pids, UINT16_MAX))};
}

// The time is kept apart from the rest, so that equal samples can share an entry.
void History::add(const UsageSample& sample) {
  latest_ = sample;
  any_ = true;
  // A tenth of a percent does not matter, and without rounding no two samples would be the same.
  UsageSample kept = sample;
  kept.time_ms = 0;
  kept.cpu_percent = rounded(sample.cpu_percent);
  kept.throttled_percent = rounded(sample.throttled_percent);
  recent_.add(sample.time_ms, kept);
  bool clock_was_set_back = sample.time_ms < last_hour_ms_;
  if (hour_.samples() > 0 && !clock_was_set_back && sample.time_ms - last_hour_ms_ < kHourEveryMs)
    return;
  last_hour_ms_ = sample.time_ms;
  hour_.add(sample.time_ms, brief(sample));
}

std::vector<UsageSample> History::recent() const {
  std::vector<UsageSample> all;
  all.reserve(recent_.samples());
  recent_.each([&](int64_t time_ms, const UsageSample& kept) {
    all.push_back(kept);
    all.back().time_ms = time_ms;
  });
  return all;
}

std::vector<UsageSample> History::hour() const {
  std::vector<UsageSample> all;
  all.reserve(hour_.samples());
  hour_.each([&](int64_t time_ms, const Brief& kept) {
    UsageSample sample{.time_ms = time_ms, .cpu_percent = static_cast<double>(kept.cpu_percent)};
    sample.memory = kept.memory * kUnit;
    sample.memory_file = kept.memory_file * kUnit;
    sample.disk = kept.disk * kUnit;
    sample.pids = kept.pids;
    all.push_back(sample);
  });
  return all;
}

}  // namespace paddock::monitor
