// Calls that are under way, counted for all Paddock processes of this user together: each holds one
// of as many locks as there may be calls at once. The kernel lets go of them when their process
// ends, however it does.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"

namespace paddock::tools {

class Places {
 public:
  static constexpr uint64_t kMost = 4096;  // of one key; beyond that nothing is counted

  // Its file `places`; both are made when missing.
  static Result<Places> open(const std::string& directory);
  // The place is held until the Fd is closed. Empty: all `most` of `key` are taken. The error arm:
  // it cannot be known.
  Result<std::optional<Fd>> take(const std::string& key, uint64_t most) const;

 private:
  explicit Places(Fd directory) : directory_(std::move(directory)) {}
  Fd directory_;
};

}  // namespace paddock::tools
