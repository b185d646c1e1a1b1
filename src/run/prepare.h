// From a command and a policy to a plan: looks at the host, refuses what cannot be held, and lets
// the wall compile.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "launch/launcher.h"
#include "paddock/sandbox.h"
#include "run/egress.h"
#include "run/uid_slot.h"
#include "store/change_set.h"
#include "wall/wall.h"

namespace paddock::runs {

// What the caller knows about its terminal and its keeper.
struct PrepareOptions {
  bool terminal[3] = {false, false, false};
  uint16_t rows = 24, columns = 80;
  // A keeper that runs already and will get the plan; null to have one started.
  launch::KeeperProcess* keeper = nullptr;
  // Called before a directory is made on disk, which is to be removed if no run comes of it.
  std::function<void(const std::string& path)> about_to_make;
};

// Everything that is settled before anything happens. Dropping it releases the ids, the keeper and
// egress; a change set must be discarded explicitly.
struct Prepared {
  WallKind wall = WallKind::container;
  wall::HostFacts facts;
  wall::Request request;
  wall::Compiled compiled;
  std::optional<UidSlot> uid;
  std::optional<store::ChangeSet> change_set;
  // Started for the plan, unless the caller has one: its cgroups may be in a scope of its own.
  std::optional<launch::KeeperProcess> keeper;
  // Set when the policy opens the network. Its holder can reload it during the run.
  std::shared_ptr<Egress> egress;
};

// `policy` is the combined one. If this fails, nothing runs and nothing is left behind.
Result<Prepared> prepare(const Command& command, const Policy& policy,
                         const PrepareOptions& options);

// One reason why a policy cannot be enforced on this machine.
struct Problem {
  Error error;
  // The key and entry at fault, such as "files.read" and a path. Empty if no single one is.
  std::string key, entry;
};
// Everything that a run under this policy would be refused for here. Nothing is run and nothing is
// left behind. The command itself is not judged.
std::vector<Problem> find_problems(const Policy& policy);

}  // namespace paddock::runs
