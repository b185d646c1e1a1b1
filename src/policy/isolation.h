// Which wall a policy asks for: the ladder from the weakest wall to the strongest, the keys of
// [isolation], and the choice between walls where a policy leaves one open.
#pragma once

#include <functional>

#include "policy/narrowing.h"
#include "policy/types.h"

namespace paddock::policy {

// Whether `wall` stands on a lower rung of the ladder than `floor`: process < container = runc =
// crun = docker < gvisor < vm. Walls of one rung share what an attacker has to overcome, which is
// the host's kernel for all up to docker. Not for `automatic`, which is not a wall.
bool is_weaker(WallKind wall, WallKind floor);

// Says why a wall cannot be had on this host; nothing if it can.
using WallCheck = std::function<Result<void>(WallKind)>;

// The wall that a combined policy comes to. A wall that the policy names must be enabled
// (isolation.walls), strong enough (isolation.at_least) and available. `auto` stands for the
// strongest wall of which all that is true and which can hold the policy, and for the fastest of
// equals; it never stands for `process`.
//
//   choose_wall(policy, check) → WallKind::container
Result<WallKind> choose_wall(const Policy& policy, const WallCheck& check);

// For isolation.walls and isolation.at_least, where `auto` would say nothing.
Type<std::vector<std::string>> wall_list();
Type<WallKind> one_wall();

// For isolation.wall. A fallback that is weaker than the floor would only refuse what the floor
// asks for, so `auto` takes its place.
struct AgreedWall : AgreedUnlessAutomatic {
  void fall_back(const auto&, const Policy& fallback, Policy& result) const {
    if (result.wall) return;
    result.wall = fallback.wall;
    if (result.at_least && fallback.wall && is_weaker(*fallback.wall, *result.at_least))
      result.wall = WallKind::automatic;
  }
};

// For isolation.at_least. A weaker floor than that of another layer is met by the stronger one, so
// nobody needs to be told.
struct Strongest : NarrowingRule {
  const char* words() const { return "the strongest"; }
  Result<void> combine(const auto& key, const Layers& layers, Policy& result) const {
    std::optional<WallKind>& floor = key.in(result);
    for (const Policy* layer : layers) {
      const std::optional<WallKind>& asked = key.in(*layer);
      if (asked && (!floor || is_weaker(*floor, *asked))) floor = asked;
    }
    return {};
  }
};

}  // namespace paddock::policy
