// Which mechanism of this host enforces which limit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "paddock/sandbox.h"
#include "wall/request.h"

namespace paddock::wall {

// A file whose content proves a limit. It is read once the sandbox stands.
struct Readback {
  std::string path;       // in a cgroup
  uint64_t expected = 0;  // largest value that still holds the limit
};

// How one limit is enforced, and how that can be verified.
struct PlannedLimit {
  Enforced enforced;
  uint64_t value = 0;
  std::optional<Readback> readback;  // else the mechanism has its own check in report.cc
};

// Everything that follows from the limits of a policy on this host.
struct LimitPlan {
  std::vector<kernel::CgroupPlan> cgroups;
  std::vector<kernel::Rlimit> rlimits;
  launch::Watch watch;
  std::map<LimitKind, PlannedLimit> limits;
  std::vector<std::string> weakened;  // [danger] entries that were needed
  // What a reader should know: rules of [monitor] that cannot be watched, a scope that was not
  // given.
  std::vector<std::string> notes;
  bool scratch_on_disk = false;
  bool scratch_is_bounded = false;  // on disk, and a filesystem of its own
  uint64_t disk = 0, inodes = 0;    // what the private space gets
};

// Refuses (Code::unsupported, with the fix) what this host cannot enforce and the policy does not
// accept as a danger.
Result<LimitPlan> plan_limits(const Request& request, const HostFacts& facts, WallKind wall);

}  // namespace paddock::wall
