#include "launch/space.h"

#include <gtest/gtest.h>
#include <sys/file.h>

#include "launch/keeper_test.h"

namespace paddock::launch {
namespace {

class SpaceTest : public testing::Test {
 protected:
  Plan plan(const std::string& id = "aaaaaaaaaaaaaaaa") {
    Plan plan;
    plan.ids = {::getuid(), ::getuid(), ::getgid(), ::getgid()};
    plan.space = directory_.at("spaces/space-" + id);
    plan.space_folders = {"home", "tmp"};
    return plan;
  }

  TestDirectory directory_;
};

TEST_F(SpaceTest, HoldsItsFoldersAndFilesUnderALock) {
  Plan wanted = plan();
  wanted.space_files = {{"main.py", "print(1)"}};
  Result<Fd> space = make_space(wanted);
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_TRUE(exists(wanted.space + "/home") && exists(wanted.space + "/tmp"));
  EXPECT_EQ(read_file(wanted.space + "/main.py").value(), "print(1)");
  Fd again = open_file(wanted.space, O_RDONLY | O_DIRECTORY).value();
  EXPECT_EQ(::flock(again.get(), LOCK_EX | LOCK_NB), -1);
  remove_space(wanted);
  EXPECT_FALSE(exists(wanted.space));
}

TEST_F(SpaceTest, IsNotMadeTwiceNorHalf) {
  Plan wanted = plan();
  Result<Fd> first = make_space(wanted);
  ASSERT_TRUE(first);
  EXPECT_FALSE(make_space(wanted));
  EXPECT_TRUE(exists(wanted.space + "/home"));
  Plan broken = plan("bbbbbbbbbbbbbbbb");
  broken.space_files = {{"no/such/folder", "x"}};
  EXPECT_FALSE(make_space(broken));
  EXPECT_FALSE(exists(broken.space));
}

TEST_F(SpaceTest, RefusesADirectoryThatOthersCouldChange) {
  ASSERT_EQ(::symlink("/tmp", directory_.at("spaces").c_str()), 0);
  EXPECT_FALSE(make_space(plan()));
  ASSERT_EQ(::unlink(directory_.at("spaces").c_str()), 0);
  ASSERT_EQ(::mkdir(directory_.at("spaces").c_str(), 0700), 0);
  ASSERT_EQ(::chmod(directory_.at("spaces").c_str(), 0722), 0);
  Result<Fd> open_to_all = make_space(plan());
  ASSERT_FALSE(open_to_all);
  EXPECT_EQ(open_to_all.error().code, Code::denied);
  Plan nowhere = plan();
  nowhere.space = directory_.at("no/such/spaces/space-aaaaaaaaaaaaaaaa");
  EXPECT_FALSE(make_space(nowhere));
}

TEST_F(SpaceTest, ADirectoryOfSomebodyElseIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(::mkdir(directory_.at("spaces").c_str(), 0700), 0);
  ASSERT_EQ(::chown(directory_.at("spaces").c_str(), 12345, 12345), 0);
  Result<Fd> foreign = make_space(plan());
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("belongs to user 12345"), std::string::npos);
}

TEST_F(SpaceTest, OnlyStaleSpacesAreSwept) {
  Plan held = plan("aaaaaaaaaaaaaaaa"), fresh = plan("bbbbbbbbbbbbbbbb");
  Result<Fd> lock = make_space(held);
  ASSERT_TRUE(lock);
  ASSERT_TRUE(make_space(fresh));
  ASSERT_EQ(::mkdir(directory_.at("spaces/other").c_str(), 0700), 0);
  remove_stale_spaces(held);
  EXPECT_TRUE(exists(held.space));   // its keeper lives
  EXPECT_TRUE(exists(fresh.space));  // it may be in the making
  EXPECT_TRUE(exists(directory_.at("spaces/other")));
}

TEST(SpaceOf, IsOfThisUserAlone) {
  EXPECT_NE(space_of("xyz").find(cat("/paddock-", ::geteuid(), "/space-xyz")), std::string::npos);
}

}  // namespace
}  // namespace paddock::launch
