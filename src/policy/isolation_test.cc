#include "policy/isolation.h"

#include "policy/test_cases.h"

namespace paddock::policy {

namespace {

// A host on which only the named walls can be had.
WallCheck only(std::vector<WallKind> there) {
  return [there](WallKind wall) -> Result<void> {
    if (std::find(there.begin(), there.end(), wall) != there.end()) return {};
    return Error{Code::unsupported, cat(to_string(wall), " is not installed"),
                 cat("apt-get install ", to_string(wall))};
  };
}
const WallCheck kPlain = only({WallKind::process, WallKind::container});
const WallCheck kMost = only(
    {WallKind::process, WallKind::container, WallKind::runc, WallKind::crun, WallKind::gvisor});

Policy automatic() {
  Policy policy;
  policy.wall = WallKind::automatic;
  return policy;
}

}  // namespace

TEST(Ladder, HasARungForEveryWall) {
  using enum WallKind;
  for (WallKind wall : {container, runc, crun, docker, gvisor, vm}) {
    EXPECT_TRUE(is_weaker(process, wall)) << to_string(wall);
    EXPECT_FALSE(is_weaker(wall, process)) << to_string(wall);
    EXPECT_FALSE(is_weaker(wall, wall)) << to_string(wall);
    EXPECT_FALSE(is_weaker(wall, container)) << to_string(wall);
  }
  for (WallKind wall : {runc, crun, docker}) EXPECT_FALSE(is_weaker(container, wall));
  EXPECT_TRUE(is_weaker(container, gvisor));
  EXPECT_TRUE(is_weaker(gvisor, vm));
}

TEST(ChooseWall, WhatIsNamedIsTakenOrRefused) {
  Policy policy;
  EXPECT_EQ(choose_wall(policy, kPlain).value(), WallKind::container);
  policy.wall = WallKind::process;
  EXPECT_EQ(choose_wall(policy, kPlain).value(), WallKind::process);
  policy.wall = WallKind::runc;
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::runc);
  Result<WallKind> missing = choose_wall(policy, kPlain);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().hint, "apt-get install runc");
}

TEST(ChooseWall, AutoTakesTheStrongestAndTheFastestOfEquals) {
  EXPECT_EQ(choose_wall(automatic(), kPlain).value(), WallKind::container);
  EXPECT_EQ(choose_wall(automatic(), kMost).value(), WallKind::gvisor);
  EXPECT_EQ(choose_wall(automatic(), only({WallKind::runc, WallKind::crun})).value(),
            WallKind::crun);
  EXPECT_EQ(choose_wall(automatic(), only({WallKind::container, WallKind::crun})).value(),
            WallKind::container);
  EXPECT_FALSE(choose_wall(automatic(), only({WallKind::process})));
}

TEST(ChooseWall, AutoTakesNoneThatCannotHoldThePolicy) {
  Policy policy = automatic();
  policy.network.allow.emplace();
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::gvisor);
  policy.network.allow = {"pypi.org"};
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::container);
  policy.at_least = WallKind::gvisor;
  Result<WallKind> none = choose_wall(policy, kMost);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("gvisor cannot hold a list of allowed hosts"),
            std::string::npos)
      << none.error().message;
}

TEST(ChooseWall, ChoosesAmongWhatIsEnabled) {
  Policy policy = automatic();
  policy.walls.emplace();
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::container);
  policy.walls = {"runc"};
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::container);
  policy.walls = {"gvisor"};
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::gvisor);
  policy.wall = WallKind::container;
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::container);
  policy.wall = WallKind::crun;
  Result<WallKind> refused = choose_wall(policy, kMost);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::denied);
  EXPECT_EQ(refused.error().message,
            "the wall 'crun' is not among those that the operator enabled");
  EXPECT_EQ(refused.error().hint, "the operator enables it with: [isolation] walls = [\"crun\"]");
}

TEST(ChooseWall, RefusesWhatIsBelowTheFloor) {
  Policy policy;
  policy.at_least = WallKind::crun;
  for (WallKind wall : {WallKind::container, WallKind::runc, WallKind::crun, WallKind::gvisor}) {
    policy.wall = wall;
    EXPECT_EQ(choose_wall(policy, kMost).value(), wall);
  }
  policy.wall = WallKind::process;
  EXPECT_FALSE(choose_wall(policy, kMost));
  policy.wall = WallKind::container;
  policy.at_least = WallKind::gvisor;
  Result<WallKind> refused = choose_wall(policy, kMost);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "isolation.at_least: the wall 'container' is weaker than 'gvisor'");
  policy.wall = WallKind::automatic;
  EXPECT_EQ(choose_wall(policy, kMost).value(), WallKind::gvisor);
  refused = choose_wall(policy, kPlain);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "isolation.at_least: no wall as strong as 'gvisor' can be had here: vm is not "
            "installed; gvisor is not installed");
  EXPECT_EQ(refused.error().hint, "apt-get install gvisor");
}

}  // namespace paddock::policy
