#include "cli/transfer.h"

#include <gtest/gtest.h>

namespace paddock::cli {
namespace {

TEST(CopyPaths, FindsTheSideInTheSandbox) {
  Result<CopyPaths> in = parse_copy("data.csv", "abc:/home/user/"),
                    out = parse_copy("my-box:report:1.txt", "./a:b");
  ASSERT_TRUE(in && out);
  EXPECT_TRUE(in.value().into_sandbox);
  EXPECT_EQ(in.value().id, "abc");
  EXPECT_EQ(in.value().to, "/home/user/");
  EXPECT_FALSE(out.value().into_sandbox);
  EXPECT_EQ(out.value().id, "my-box");
  EXPECT_EQ(out.value().from, "report:1.txt");
  EXPECT_EQ(out.value().to, "./a:b");
}

TEST(CopyPaths, RefusesNoneOrBothSides) {
  EXPECT_FALSE(parse_copy("a", "b"));
  EXPECT_FALSE(parse_copy("x:a", "y:b"));
  EXPECT_FALSE(parse_copy("x:", "b"));
  EXPECT_FALSE(parse_copy("x:-", "b"));
  EXPECT_FALSE(parse_copy("/tmp/x:y", "./b:c"));
}

TEST(CopyPaths, CopiesIntoDirectoriesUnderTheOwnName) {
  EXPECT_EQ(copy_target("a/data.csv", "/home/user", true).value(), "/home/user/data.csv");
  EXPECT_EQ(copy_target("a/data.csv", "/new/", false).value(), "/new/data.csv");
  EXPECT_EQ(copy_target("a/dir//", "there", true).value(), "there/dir");
  EXPECT_EQ(copy_target("a/data.csv", "other.csv", false).value(), "other.csv");
}

TEST(CopyPaths, TakesWhatIsInADirectoryWhenAskedSo) {
  EXPECT_EQ(copy_target("a/.", "there", true).value(), "there");
  EXPECT_EQ(copy_target(".", "there", true).value(), "there");
}

TEST(CopyPaths, WantsANameForTheRootAndForWhatIsAbove) {
  EXPECT_FALSE(copy_target("/", "there", true));
  EXPECT_FALSE(copy_target("a/..", "there", true));
}

}  // namespace
}  // namespace paddock::cli
