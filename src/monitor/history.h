// The last samples of one sandbox: each of the last minutes, and one of every few for the hour.
// Small, as there are many sandboxes: samples that differ in nothing but their time are kept once,
// so that an idle sandbox has two of them; one that is always busy needs 60 KB at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "paddock/sandbox.h"

namespace paddock::monitor {

// Entries with how often each was seen in a row. The oldest goes when there are too many. The
// memory grows and shrinks as needed.
template <class Entry>
class Runs {
 public:
  explicit Runs(size_t most) : most_(most) {}

  void add(int64_t time_ms, const Entry& entry) {
    Run* last = used_ > 0 ? &at(used_ - 1) : nullptr;
    if (last && last->entry == entry && time_ms >= last->first_ms &&
        time_ms - last->first_ms <= UINT32_MAX) {
      last->span_ms = static_cast<uint32_t>(time_ms - last->first_ms);
      ++last->count;
    } else {
      if (used_ == ring_.size()) resize(std::min(most_, std::max<size_t>(2, used_ * 2)));
      ++used_;
      at(used_ - 1) = {time_ms, 0, 1, entry};
    }
    if (++samples_ > most_) drop_oldest();
  }

  // Calls `tell(time_ms, entry)` for each sample, the oldest first. The samples of a run are spaced
  // evenly.
  template <class Tell>
  void each(Tell tell) const {
    for (size_t i = 0; i < used_; ++i) {
      const Run& run = ring_[(first_ + i) % ring_.size()];
      for (uint64_t n = 0; n < run.count; ++n)
        tell(run.first_ms + static_cast<int64_t>(run.span_ms * n / std::max(1u, run.count - 1)),
             run.entry);
    }
  }

  size_t samples() const { return samples_; }
  size_t bytes() const { return ring_.capacity() * sizeof(Run); }

 private:
  struct Run {
    int64_t first_ms = 0;
    uint32_t span_ms = 0, count = 0;
    Entry entry{};
  };
  Run& at(size_t index) { return ring_[(first_ + index) % ring_.size()]; }

  // A run of equal samples loses one of them, and its span shrinks by one step.
  void drop_oldest() {
    Run& oldest = at(0);
    --samples_;
    if (oldest.count > 1) {
      uint32_t step = oldest.span_ms / (oldest.count - 1);
      oldest.first_ms += step;
      oldest.span_ms -= step;
      --oldest.count;
      return;
    }
    first_ = (first_ + 1) % ring_.size();
    --used_;
    if (ring_.size() > 8 && used_ * 4 <= ring_.size()) resize(ring_.size() / 2);
  }

  void resize(size_t room) {
    std::vector<Run> larger(room);
    for (size_t i = 0; i < used_; ++i) larger[i] = at(i);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Run> ring_;
  size_t most_, first_ = 0, used_ = 0, samples_ = 0;
};

class History {
 public:
  void add(const UsageSample& sample);
  std::vector<UsageSample> recent() const;  // oldest first: up to kRecent
  // One for each five seconds; CPU, memory, disk and pids alone.
  std::vector<UsageSample> hour() const;
  const UsageSample* latest() const { return any_ ? &latest_ : nullptr; }
  size_t bytes() const { return recent_.bytes() + hour_.bytes(); }  // of memory

  // At the usual intervals: two minutes with a sample each second, and an hour with one every five
  // seconds.
  static constexpr size_t kRecent = 120, kHour = 720;
  static constexpr int64_t kHourEveryMs = 5'000;

 private:
  // What the hour keeps of a sample. Sizes are in units of 4 KiB, which reaches up to 16 TiB.
  struct Brief {
    float cpu_percent = 0;
    uint32_t memory = 0, memory_file = 0, disk = 0;
    uint16_t pids = 0;
    bool operator==(const Brief&) const = default;
  };
  static Brief brief(const UsageSample& sample);

  Runs<UsageSample> recent_{kRecent};
  Runs<Brief> hour_{kHour};
  UsageSample latest_;
  bool any_ = false;
  int64_t last_hour_ms_ = 0;
};

}  // namespace paddock::monitor
