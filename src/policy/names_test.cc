#include "policy/names.h"

#include <gtest/gtest.h>

namespace paddock {

TEST(Names, GoBothWays) {
  for (const auto& entry : kWallNames)
    EXPECT_EQ(wall_from_string(to_string(entry.kind)), entry.kind);
  for (const auto& entry : kWorkspaceModeNames)
    EXPECT_EQ(workspace_mode_from_string(to_string(entry.kind)), entry.kind);
  for (const auto& entry : kScratchNames)
    EXPECT_EQ(scratch_from_string(to_string(entry.kind)), entry.kind);
  for (const auto& entry : kAuditFullNames)
    EXPECT_EQ(audit_full_from_string(to_string(entry.kind)), entry.kind);
}

TEST(Names, AutomaticIsSpeltAuto) {
  EXPECT_STREQ(to_string(WallKind::automatic), "auto");
  EXPECT_FALSE(wall_from_string("automatic"));
  EXPECT_FALSE(wall_from_string(""));
}

}  // namespace paddock
