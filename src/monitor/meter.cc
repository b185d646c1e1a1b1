#include "monitor/meter.h"

#include <algorithm>

namespace paddock::monitor {

namespace {

// Counters only grow; one that fell started over.
uint64_t more(uint64_t now, uint64_t before) { return now - std::min(now, before); }
uint64_t rate(uint64_t now, uint64_t before, double seconds) {
  return seconds > 0 ? static_cast<uint64_t>(static_cast<double>(more(now, before)) / seconds) : 0;
}

// A sandbox that used less CPU time than this between two samples did nothing.
constexpr uint64_t kStillUs = 1'000;
// After this long without a new reading, the rates of the expensive part count as over.
constexpr int64_t kLongestTrueUs = 10'000'000;

}  // namespace

void Meter::begin(const Reading& reading, int64_t now_us) {
  last_ = last_deep_ = reading;
  last_us_ = deep_us_ = now_us;
}

UsageSample Meter::measure(const Reading& reading, int64_t now_us, int64_t time_ms) {
  if (reading.deep)
    measure_deep(reading, now_us);
  else if (is_over(reading, now_us))
    read_rate_ = write_rate_ = 0, throttled_percent_ = 0;
  UsageSample sample{.time_ms = time_ms};
  double seconds = last_us_ ? static_cast<double>(now_us - *last_us_) / 1e6 : 0;
  if (seconds > 0)
    sample.cpu_percent = static_cast<double>(more(reading.cpu_us, last_.cpu_us)) / seconds / 1e4;
  sample.memory = reading.memory;
  sample.memory_peak = std::max(reading.memory_peak, reading.memory);
  sample.memory_anon = reading.memory_anon;
  sample.memory_file = reading.memory_file;
  sample.memory_shmem = reading.memory_shmem;
  sample.memory_kernel = reading.memory_kernel;
  sample.memory_sockets = reading.memory_sockets;
  sample.pids = reading.pids;
  sample.disk = reading.disk;
  sample.disk_read_rate = read_rate_;
  sample.disk_write_rate = write_rate_;
  measure_network(reading, seconds, sample);
  sample.pressure_cpu = reading.pressure_cpu;
  sample.pressure_memory = reading.pressure_memory;
  sample.pressure_io = reading.pressure_io;
  sample.throttled_percent = throttled_percent_;
  sample.throttled = reading.throttled;
  sample.oom_kills = reading.oom_kills;
  last_ = reading;
  last_us_ = now_us;
  return sample;
}

// What the expensive part said holds until it is read again, but not for a sandbox that does
// nothing any more.
bool Meter::is_over(const Reading& reading, int64_t now_us) const {
  bool still = last_us_ && more(reading.cpu_us, last_.cpu_us) < kStillUs;
  return still || (deep_us_ && now_us - *deep_us_ > kLongestTrueUs);
}

// Its own interval counts, since it may be read less often than the rest.
void Meter::measure_deep(const Reading& reading, int64_t now_us) {
  double seconds = deep_us_ ? static_cast<double>(now_us - *deep_us_) / 1e6 : 0;
  read_rate_ = rate(reading.read_bytes, last_deep_.read_bytes, seconds);
  write_rate_ = rate(reading.written_bytes, last_deep_.written_bytes, seconds);
  throttled_percent_ =
      seconds > 0
          ? std::min(100.0,
                     static_cast<double>(more(reading.throttled_us, last_deep_.throttled_us)) /
                         seconds / 1e4)
          : 0;
  last_deep_ = reading;
  deep_us_ = now_us;
}

// Egress reports its sums when they change, a little before they are looked at, and its clock says
// how long that took. After a silence the time since the last sample counts, or a burst would be
// spread over it.
void Meter::measure_network(const Reading& reading, double seconds, UsageSample& sample) const {
  sample.net_up = reading.net_up;
  sample.net_down = reading.net_down;
  sample.connections = reading.connections;
  if (!last_.net_known || !last_us_ || reading.net_time_ms <= last_.net_time_ms) return;
  double told = static_cast<double>(reading.net_time_ms - last_.net_time_ms) / 1e3;
  double span = last_.net_time_ms == 0 ? seconds : std::min(seconds, told);
  sample.net_up_rate = rate(reading.net_up, last_.net_up, span);
  sample.net_down_rate = rate(reading.net_down, last_.net_down, span);
}

}  // namespace paddock::monitor
