// The sandbox's own root, built from a plan's steps.
#pragma once

#include <vector>

#include "base/fd.h"
#include "launch/plan.h"

namespace paddock::launch {

// Detached copies of what a plan takes from the host, one per step; empty where a step takes
// nothing.
using Sources = std::vector<Fd>;

// Which binds to take: a privileged keeper takes those that need its rights, the first process the
// others.
enum class Taker { keeper, first_process };
bool takes_source(const Step& step, Taker taker);
Result<void> take_sources(const Plan& plan, Taker taker, Sources& sources);

// Enters an empty root and builds the plan's inside it. The host's tree is out of reach from then
// on.
Result<void> build_root(const Plan& plan, Sources& sources);

// Builds the root at `place` and leaves the host's tree where it is: for a runtime that enters the
// root by itself. All sources are taken already. Changes the root of the calling process, so call
// it in a child; the mounts stay.
Result<void> build_root_at(const std::string& place, const Plan& plan, Sources& sources);

// Covers the runtime's /proc with the plan's, from inside.
Result<void> build_proc(const Plan& plan);

// Where under `place` the root then is: a plan may enter one that it stacked first.
std::string root_at(const std::string& place, const Plan& plan);

}  // namespace paddock::launch
