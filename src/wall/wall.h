// A wall turns a request into a plan. Pure: everything it needs to know is in its arguments.
#pragma once

#include "launch/plan.h"
#include "wall/limits.h"
#include "wall/oci/runtime.h"
#include "wall/request.h"

namespace paddock::wall {

// A plan, and what has to be reported about it.
struct Compiled {
  launch::Plan plan;
  LimitPlan limits;
  std::vector<std::string> weakened;
  std::vector<std::string> notes;
};

Result<Compiled> compile_container(const Request& request, const HostFacts& facts);
// Compiles a container for a living sandbox; request.living must be set.
Result<Compiled> compile_living(const Request& request, const HostFacts& facts);
// The same, for a run or a living sandbox whose namespaces an OCI runtime makes.
Result<Compiled> compile_oci(const Request& request, const HostFacts& facts,
                             const OciRuntime& runtime);
Result<Compiled> compile_process(const Request& request, const HostFacts& facts);

// Whether this wall can work here at all; if not, why, and what to do.
Result<void> check_common(const HostFacts& facts);

// The directories in which sandboxes of this user have their cgroups.
std::vector<std::string> cgroup_places(const kernel::CgroupFacts& groups);

// The program's environment, built from nothing: our own names, the policy's, the command's, the
// secrets.
std::vector<std::string> build_environment(const Request& request, const std::string& home,
                                           const std::string& temporary);

// What every wall does at the end: sets the streams, and collects what a reader should know about
// grants and limits.
void finish_plan(const Request& request, Compiled& compiled);

// A filter out of presets/seccomp by name.
Result<std::string> seccomp_filter(const std::string& name);

}  // namespace paddock::wall
