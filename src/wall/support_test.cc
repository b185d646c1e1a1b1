#include "wall/support.h"

#include <gtest/gtest.h>

namespace paddock::wall {
namespace {

TEST(Support, NamesTheSysctlThatForbidsUserNamespaces) {
  EXPECT_EQ(advise_on_user_namespaces({.max_user_namespaces = "0"}).fix,
            "sysctl -w user.max_user_namespaces=15000");
  EXPECT_EQ(
      advise_on_user_namespaces({.unprivileged_userns_clone = "0", .max_user_namespaces = "1000"})
          .fix,
      "sysctl -w kernel.unprivileged_userns_clone=1");
  EXPECT_EQ(
      advise_on_user_namespaces({.max_user_namespaces = "1000", .apparmor_restrict = "1"}).fix,
      "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
}

TEST(Support, AdvisesAlsoWhereNoSwitchIsToBlame) {
  Advice advice = advise_on_user_namespaces(
      {.unprivileged_userns_clone = "1", .max_user_namespaces = "1000", .apparmor_restrict = "0"});
  EXPECT_FALSE(advice.why.empty());
  EXPECT_FALSE(advice.fix.empty());
}

TEST(Support, OnlyAnOrdinaryUserIsToldToBecomeRoot) {
  EXPECT_NE(advise_on_cgroup({}, false).find("run as root"), std::string::npos);
  EXPECT_EQ(advise_on_cgroup({}, true).find("run as root"), std::string::npos);
  EXPECT_NE(advise_on_cgroup({.scope = "/sys/fs/cgroup/x.scope"}, false)
                .find("Delegate=pids memory cpu io"),
            std::string::npos);
}

TEST(Support, TriesTheNetworkOrSaysWhatIsMissing) {
  Result<NetworkTrial> tried = try_network();
  EXPECT_TRUE(tried || !tried.error().message.empty());
}

}  // namespace
}  // namespace paddock::wall
