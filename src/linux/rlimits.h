#pragma once

#include <cstdint>
#include <vector>

#include "paddock/error.h"

namespace paddock::kernel {

struct Rlimit {
  int resource = 0;    // RLIMIT_*
  uint64_t value = 0;  // soft and hard
};

// Lowers soft and hard limits to the given values; a limit that is lower already stays. For open
// files, an eighth of the present limit is kept back from programs: the kernel lets a user have as
// many descriptors in flight between processes as the sender may open, so a process that kept more
// can still send some when programs with a lower limit have used theirs up.
Result<void> set_rlimits(const std::vector<Rlimit>& limits);

}  // namespace paddock::kernel
