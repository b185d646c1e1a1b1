// Exceeding each limit on purpose, in a short run of its own.
#pragma once

#include <vector>

#include "doctor/verify.h"

namespace paddock::doctor {

// `prober` is the path of paddock-probe; `whole` is the plan for the unchanged policy, which says
// how each limit is enforced. Limits are narrowed so that exceeding them is quick and cheap, but
// the mechanism stays that of `whole`.
Result<std::vector<Probe>> verify_limits(const VerifyInput& input, const std::string& prober,
                                         const runs::Prepared& whole);

}  // namespace paddock::doctor
