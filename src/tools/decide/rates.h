// How often something was done, against how often it may be: counted for all Paddock processes of
// this user together, and across restarts. In a file that is mapped and locked for each decision;
// by the monotonic clock while the machine runs, and after a reboot by the time of day, which
// cannot then give more than one period's worth back. docs/formats/rates.md has the file and what
// is lost when.
//
// "N in a period" holds for every window of that length. Up to kExact calls are remembered one by
// one; of a larger N those that lie within a 61st of the period are remembered together, by the
// latest of them, so that room comes back at most that much late, never early.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "paddock/error.h"
#include "policy/tools/tool.h"

namespace paddock::tools {

// The clocks, for tests to turn.
struct Clocks {
  // CLOCK_BOOTTIME, which nobody can set.
  std::function<int64_t()> since_boot_ns;
  std::function<int64_t()> time_of_day_ns;
  // The id of this boot.
  std::string boot;
  static Result<Clocks> of_this_host();
};

class Rates {
 public:
  static constexpr uint64_t kExact = 62;

  // The file `rates` in `directory`, which is made when missing.
  static Result<std::unique_ptr<Rates>> open(const std::string& directory);
  static Result<std::unique_ptr<Rates>> open(const std::string& directory, Clocks clocks);
  ~Rates();

  struct Want {
    // For example "tool send_email", "agent key 3 tool send_email" or "calls".
    std::string key;
    policy::Rate rate;
    // For example "tools.send_email.rate".
    std::string rule;
  };
  struct Refused {
    // Which of the wants: the one that takes longest.
    size_t which = 0;
    int64_t retry_after_ms = 0;
  };
  // All or nothing. Nothing: it was taken. The error arm: it cannot be counted, so it must not be
  // done.
  Result<std::optional<Refused>> take(const std::vector<Want>& wants);
  // The same, and nothing is taken.
  Result<std::optional<Refused>> look(const std::vector<Want>& wants) const;

 private:
  struct State;
  explicit Rates(std::unique_ptr<State> state);
  Result<std::optional<Refused>> decide(const std::vector<Want>& wants, bool take) const;
  std::unique_ptr<State> state_;
};

}  // namespace paddock::tools
