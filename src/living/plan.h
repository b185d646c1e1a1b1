// Makes a plan for the keeper of a living sandbox.
#pragma once

#include <memory>
#include <optional>

#include "living/instance.h"
#include "run/egress.h"
#include "run/uid_slot.h"
#include "wall/wall.h"

namespace paddock::living {

struct InstancePlan {
  wall::HostFacts facts;
  wall::Request request;
  std::optional<wall::OciRuntime> runtime;  // that makes the namespaces, if another one does
  wall::Compiled compiled;
  std::optional<runs::IdRange> ids;  // root: of this sandbox alone
};

// The facts of this host, probed once; all but the cgroups, which each sandbox may have in a scope
// of its own.
const wall::HostFacts& living_facts();

// Where this process may make cgroups, probed once. For sandboxes without a scope of a service
// manager.
const kernel::CgroupFacts& living_cgroups();

// Plans everything but what only a running egress process knows: its certificates go into the
// request later.
Result<InstancePlan> plan_instance(const InstanceSpec& spec);

// Compiles the plan, and makes the directories that hold what is written.
Result<void> finish_plan(InstancePlan& plan);

}  // namespace paddock::living
