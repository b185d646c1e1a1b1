// Exceeding each limit on purpose, in a short run of its own.
#pragma once

#include <vector>

#include "doctor/verify.h"

namespace paddock::doctor {

// `prober` is the path of paddock-probe; `whole` the plan for the policy as it is, which says what
// holds each limit. Limits are narrowed so that exceeding them is quick and cheap; the mechanism
// stays the one of `whole`.
Result<std::vector<Probe>> verify_limits(const VerifyInput& input, const std::string& prober,
                                         const runs::Prepared& whole);

}  // namespace paddock::doctor
