// Calls that are under way, counted for all Paddock processes of this user together. Each call
// holds one of as many locks as there may be calls at once. The kernel releases them when their
// process ends, however it ends.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"

namespace paddock::tools {

class CallSlots {
 public:
  // The most slots of one key; beyond that nothing is counted.
  static constexpr uint64_t kMost = 4096;

  // Opens the file `places` in the directory. Both are made when missing.
  static Result<CallSlots> open(const std::string& directory);
  // The slot is held until the Fd is closed. Empty: all `most` slots of `key` are taken. The error
  // arm: it cannot be known.
  Result<std::optional<Fd>> take(const std::string& key, uint64_t most) const;

 private:
  explicit CallSlots(Fd directory) : directory_(std::move(directory)) {}
  Fd directory_;
};

}  // namespace paddock::tools
