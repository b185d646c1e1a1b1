// The steps that build a container's root.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "wall/limits.h"
#include "wall/request.h"

namespace paddock::wall {

// A place that the program may write to, for Landlock, which repeats what the mounts say.
struct WritablePlace {
  std::string path;
  bool executable = false;
};

// The steps, and which of the places they make can be written to.
struct RootPlan {
  std::vector<launch::Step> steps;
  std::vector<WritablePlace> writable;
};

Result<RootPlan> plan_root(const Request& request, const HostFacts& facts, const LimitPlan& limits);

// Where a host path is seen inside, which may be at several places: beneath the workspace it moves,
// elsewhere it keeps its path.
std::vector<std::string> inside_paths(const Request& request, const HostFacts& facts,
                                      const std::string& host_path);

}  // namespace paddock::wall
