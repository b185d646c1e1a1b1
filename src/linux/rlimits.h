#pragma once

#include <cstdint>
#include <vector>

#include "paddock/error.h"

namespace paddock::kernel {

struct Rlimit {
  int resource = 0;    // RLIMIT_*
  uint64_t value = 0;  // soft and hard
};

// Lowers soft and hard limits to the given values (never above what is already there: then the
// lower one stays). Of open files an eighth of what is there is kept back: the kernel lets a user
// have as many descriptors in flight between processes as the sender may open, so that those who
// kept more can still send some when programs with less have used theirs up.
Result<void> set_rlimits(const std::vector<Rlimit>& limits);

}  // namespace paddock::kernel
