#include "store/change_set.h"

#include "store/change_test.h"

namespace paddock::store {
namespace {

using ChangeSetTest = ChangeTest;

TEST_F(ChangeSetTest, KeepsWhatItWasMadeWith) {
  ASSERT_EQ(::chmod(at("ws").c_str(), 0750), 0);
  start({"**/.env"});
  ChangeSet again = open_change_set(set_.id).value();
  EXPECT_EQ(again.workspace, at("ws"));
  EXPECT_EQ(again.upper, set_.upper);
  EXPECT_EQ(again.inode, set_.inode);
  EXPECT_EQ(again.started_nanoseconds, set_.started_nanoseconds);
  EXPECT_EQ(again.deny, Lines{"**/.env"});
  EXPECT_EQ(mode(up_), 0750u) << "the overlay shows this as the workspace's mode";
  EXPECT_EQ(mode("state/changes/" + set_.id), 0700u);
}

TEST_F(ChangeSetTest, GivesItsLayersToTheProgramsUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  ChangeSet set =
      create_change_set({.workspace = at("ws"), .owner_uid = 65534, .owner_gid = 65534}).value();
  struct stat info;
  ASSERT_EQ(::stat(set.upper.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534u);
  EXPECT_EQ(mode("state/changes/" + set.id + "/layers"), 0711u)
      << "passed through by the program's user";
  EXPECT_EQ(mode("state/changes/" + set.id), 0700u);
  ASSERT_EQ(::stat(set.work.c_str(), &info), 0);
  EXPECT_EQ(info.st_gid, 65534u);
}

TEST_F(ChangeSetTest, RefusesIdsThatAreNone) {
  for (const char* id :
       {"", "..", "../../etc", "a/b", "ABCDEFGHIJ", "aaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(open_change_set(id).error().code, Code::not_found) << id;
    EXPECT_EQ(discard_change_set(id).error().code, Code::not_found) << id;
  }
  EXPECT_NE(open_change_set("aaaaaaaaaa").error().hint.find("paddock diff"), std::string::npos);
}

TEST_F(ChangeSetTest, ListsOldestFirstAndSaysWhatIsInUse) {
  start();
  std::string first = set_.id;
  ChangeSet held = std::move(set_);
  start();
  set_.directory.reset();
  std::vector<ChangeSetInfo> sets = list_change_sets().value();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].in_use, sets[0].id == first);
  EXPECT_EQ(sets[1].in_use, sets[1].id == first);
}

TEST_F(ChangeSetTest, ListsABrokenOneWithItsProblem) {
  start();
  set_.directory.reset();
  write("state/changes/" + set_.id + "/meta.json", "{}");
  std::vector<ChangeSetInfo> sets = list_change_sets().value();
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_FALSE(sets[0].problem.empty());
  EXPECT_TRUE(discard_change_set(set_.id));
}

TEST_F(ChangeSetTest, DiscardRemovesWhatTheKernelLocked) {
  start();
  make("state/changes/" + set_.id + "/layers/work/work");
  ASSERT_EQ(::chmod(at("state/changes/" + set_.id + "/layers/work/work").c_str(), 0), 0);
  EXPECT_FALSE(discard_change_set(set_.id)) << "the run holds it";
  EXPECT_TRUE(discard_change_set(std::move(set_)));
  EXPECT_TRUE(names("state/changes").empty());
}

TEST_F(ChangeSetTest, RefusesAStateDirectoryInsideTheWorkspace) {
  Result<ChangeSet> set = create_change_set({.workspace = base_});
  ASSERT_FALSE(set);
  EXPECT_NE(set.error().hint.find("PADDOCK_STATE"), std::string::npos);
  EXPECT_TRUE(names("state/changes").empty());
}

TEST_F(ChangeSetTest, NoticesASwappedWorkspace) {
  start();
  ASSERT_EQ(::rename(at("ws").c_str(), at("old").c_str()), 0);
  make("ws");
  EXPECT_EQ(open_trees(set_).error().code, Code::conflict);
  ASSERT_EQ(::rmdir(at("ws").c_str()), 0);
  link("/etc", "ws");
  EXPECT_EQ(diff(set_).error().code, Code::conflict);
  EXPECT_EQ(apply(set_, {}, {}).error().code, Code::conflict);
}

}  // namespace
}  // namespace paddock::store
