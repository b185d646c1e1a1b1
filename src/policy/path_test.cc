#include "policy/path.h"

#include <gtest/gtest.h>

namespace paddock::policy {

TEST(Path, StaysWhereItIsWithoutAHome) {
  EXPECT_FALSE(absolute_path("~/x", {.base_directory = "/work", .home = ""}));
  EXPECT_FALSE(absolute_path("x", {.base_directory = "", .home = "/home/agent"}));
  EXPECT_FALSE(absolute_path("x", {.base_directory = "relative", .home = ""}));
}

TEST(Path, RefusesWhatTheKernelWould) {
  EXPECT_FALSE(absolute_path(std::string("/a\0b", 4), {}));
  EXPECT_FALSE(absolute_path("/" + std::string(5000, 'a'), {}));
}

TEST(Path, ATildeInsideANameIsJustACharacter) {
  Result<std::string> path = absolute_path("/a/~/b~", {});
  ASSERT_TRUE(path);
  EXPECT_EQ(path.value(), "/a/~/b~");
}

TEST(Path, ContainsByWholeLabels) {
  EXPECT_TRUE(contains_path("/", "/etc"));
  EXPECT_TRUE(contains_path("/opt", "/opt"));
  EXPECT_TRUE(contains_path("/opt", "/opt/models"));
  EXPECT_FALSE(contains_path("/opt", "/optional"));
  EXPECT_FALSE(contains_path("/opt/models", "/opt"));
}

}  // namespace paddock::policy
