// What works on a host, wall by wall and limit by limit, as data; and advice for what does not.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linux/cgroup.h"
#include "paddock/sandbox.h"

namespace paddock::wall {

struct LimitSupport {
  LimitKind kind = LimitKind::memory;
  bool works = false;
  Enforced enforced;     // when it works: by what, and how strongly
  std::string why, fix;  // when it does not
};

struct Support {
  enum class State : uint8_t { works, fails, absent /* not part of this version */ };
  WallKind wall = WallKind::container;
  State state = State::fails;
  std::string why, fix;
  std::vector<LimitSupport> limits;          // of a wall that works
  std::map<std::string, Enforced> enforced;  // the same for what is no limit: files, network, …
};
const char* to_string(Support::State state);

// One thing about this host that a wall depends on.
struct Fact {
  std::string name, value;
  bool good = true;
  std::string fix;  // the one command or action, when it is not good
};

// Why a user namespace could not be made, judged by the switches that forbid it. Values are as
// read, empty if absent.
struct NamespaceSwitches {
  std::string unprivileged_userns_clone, max_user_namespaces, apparmor_restrict;
};
struct Advice {
  std::string why, fix;
};
Advice advise_on_user_namespaces(const NamespaceSwitches& switches);

// Whether a sandbox can have a network here. Loads the real rules into a namespace that is gone
// afterwards.
struct NetworkTrial {
  bool ipv6 = false;
  bool log = false;  // packets that lead nowhere are reported, not only dropped
};
Result<NetworkTrial> try_network();

// Advice on how to get a cgroup controller that is out of reach.
std::string advise_on_cgroup(const kernel::CgroupFacts& cgroups, bool is_root);

}  // namespace paddock::wall
