// The steps that build a container's root.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "launch/plan.h"
#include "wall/limits.h"
#include "wall/request.h"

namespace paddock::wall {

// A place the program may write to, for Landlock's second opinion.
struct WritablePlace {
  std::string path;
  bool executable = false;
};

struct RootPlan {
  std::vector<launch::Step> steps;
  std::vector<WritablePlace> writable;
};

Result<RootPlan> plan_root(const Request& request, const HostFacts& facts, const LimitPlan& limits);

// A host path as it is seen inside, at each place where it is: beneath the workspace it moves,
// elsewhere it stays.
std::vector<std::string> inside_paths(const Request& request, const HostFacts& facts,
                                      const std::string& host_path);

}  // namespace paddock::wall
