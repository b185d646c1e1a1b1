// One line on stderr that says how far a copy is: only on a terminal, and gone when it is done.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace paddock::cli {

// "name  [#####     ]  50%  12.0M/24.0M  8.1M/s" in `width` columns. Pure.
std::string progress_line(const std::string& name, uint64_t done, std::optional<uint64_t> all,
                          double seconds, size_t width);

class Progress {
 public:
  Progress(std::string name, std::optional<uint64_t> all, bool shown);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add(uint64_t bytes);
  uint64_t done() const { return done_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::string name_;
  std::optional<uint64_t> all_;
  bool shown_, drawn_ = false;
  uint64_t done_ = 0;
  Clock::time_point began_ = Clock::now(), drew_{};
};

}  // namespace paddock::cli
