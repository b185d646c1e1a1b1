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

struct PrepareOptions {
  bool terminal[3] = {false, false, false};
  uint16_t rows = 24, columns = 80;
  launch::KeeperProcess* keeper = nullptr;  // one that runs already, and will get the plan
  // A directory on disk that is to go if no run comes of it.
  std::function<void(const std::string& path)> about_to_make;
};

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

// `policy` is the combined one; nothing runs and nothing is left behind when this fails.
Result<Prepared> prepare(const Command& command, const Policy& policy,
                         const PrepareOptions& options);

// Something that keeps a policy from holding on this machine.
struct Problem {
  Error error;
  // "files.read" and the path; empty where it is about no key, or no entry, by itself.
  std::string key, entry;
};
// What a run under this policy would be refused for here, all of it; nothing is run and nothing is
// left behind. Only the command is not judged.
std::vector<Problem> find_problems(const Policy& policy);

}  // namespace paddock::runs
