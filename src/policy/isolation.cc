#include "policy/isolation.h"

#include <algorithm>

#include "base/text.h"

namespace paddock::policy {

namespace {

// Within a rung the faster wall is higher, which is the order in which `auto` tries them from the
// end. `is_chosen`: `auto` may stand for it.
struct Rung {
  WallKind wall;
  int strength;
  bool is_chosen;
};
constexpr Rung kLadder[] = {
    {WallKind::process, 0, false}, {WallKind::docker, 1, true},    {WallKind::runc, 1, true},
    {WallKind::crun, 1, true},     {WallKind::container, 1, true}, {WallKind::gvisor, 2, true},
    {WallKind::vm, 3, true},
};

int strength(WallKind wall) {
  for (const Rung& rung : kLadder)
    if (rung.wall == wall) return rung.strength;
  return 0;
}

// A container needs no further program, so it is always enabled.
Result<void> check_enabled(WallKind wall, const Policy& policy) {
  const char* name = to_string(wall);
  if (!policy.walls || wall == WallKind::container ||
      std::find(policy.walls->begin(), policy.walls->end(), name) != policy.walls->end())
    return {};
  return Error{Code::denied,
               cat("the wall '", name, "' is not among those that the operator enabled"),
               cat("the operator enables it with: [isolation] walls = [\"", name, "\"]")};
}

Result<void> check_strength(WallKind wall, const Policy& policy) {
  if (!policy.at_least || !is_weaker(wall, *policy.at_least)) return {};
  return Error{Code::unsupported,
               cat("isolation.at_least: the wall '", to_string(wall), "' is weaker than '",
                   to_string(*policy.at_least), "'"),
               "name a stronger wall, or let Paddock choose one: wall = \"auto\""};
}

// What a wall that works here is known to refuse, so that `auto` does not choose it.
Result<void> check_able(WallKind wall, const Policy& policy) {
  bool has_network = policy.network.allow && !policy.network.allow->empty();
  if (wall == WallKind::gvisor && has_network)
    return Error{Code::unsupported, "gvisor cannot hold a list of allowed hosts", ""};
  return {};
}

Result<void> check_all(WallKind wall, const Policy& policy, const WallCheck& check) {
  TRY(check_enabled(wall, policy));
  TRY(check_strength(wall, policy));
  return check(wall);
}

// Tries the ladder from its top. Where nothing is left, the walls that are strong enough say why
// they cannot be had: the others are not what was asked for.
Result<WallKind> choose_strongest(const Policy& policy, const WallCheck& check) {
  std::vector<std::string> reasons;
  std::string hint;
  for (auto rung = std::rbegin(kLadder); rung != std::rend(kLadder); ++rung) {
    if (!rung->is_chosen || !check_strength(rung->wall, policy)) continue;
    Result<void> suits = check_able(rung->wall, policy);
    if (suits) suits = check_all(rung->wall, policy, check);
    if (suits) return rung->wall;
    reasons.push_back(suits.error().message);
    if (!suits.error().hint.empty()) hint = suits.error().hint;  // of the weakest that would do
  }
  return Error{Code::unsupported,
               cat("isolation.at_least: no wall as strong as '",
                   to_string(policy.at_least.value_or(WallKind::container)),
                   "' can be had here: ", join(reasons, "; ")),
               hint};
}

}  // namespace

bool is_weaker(WallKind wall, WallKind floor) { return strength(wall) < strength(floor); }

Result<WallKind> choose_wall(const Policy& policy, const WallCheck& check) {
  WallKind wall = policy.wall.value_or(WallKind::container);
  if (wall == WallKind::automatic) return choose_strongest(policy, check);
  TRY(check_all(wall, policy, check));
  return wall;
}

Type<WallKind> one_wall() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = words(kWallNames);
    std::erase(all, to_string(WallKind::automatic));
    return all;
  }();
  auto parse = [](const std::string& text) -> Result<WallKind> {
    if (std::find(names.begin(), names.end(), text) != names.end()) return *wall_from_string(text);
    return refused_text(text, cat("is not one of ", join(names, ", ")), suggestion(text, names));
  };
  Type<WallKind> type = word(kWallNames);
  type.takes = cat("`", join(names, " "), "`");
  type.read = [parse](const Cursor& cursor, const DecodeContext&) -> Result<WallKind> {
    Result<WallKind> wall = parse(TRY(cursor.text()));
    if (!wall) return cursor.wrong(wall.error());
    return wall;
  };
  type.schema = [] { return words_schema(names); };
  type.parse = parse;
  return type;
}

Type<std::vector<std::string>> wall_list() {
  Type<WallKind> wall = one_wall();
  Type<std::vector<std::string>> list =
      texts("list of walls",
            [wall](const std::string& text, const DecodeContext&) -> Result<std::string> {
              return std::string(to_string(TRY(wall.parse(text))));
            });
  list.schema = [wall] { return list_schema(wall.schema()); };
  return list;
}

}  // namespace paddock::policy
