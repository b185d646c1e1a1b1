#include "store/state.h"

#include "store/store_test.h"

namespace paddock::store {
namespace {

using StateTest = StoreTest;

TEST_F(StateTest, MakesAPrivateDirectory) {
  EXPECT_EQ(state_directory().value(), at("state"));
  EXPECT_EQ(mode("state"), 0700u);
  EXPECT_EQ(open_state("changes").value().path, at("state/changes"));
  EXPECT_EQ(mode("state/changes"), 0700u);
}

TEST_F(StateTest, MakesParents) {
  ASSERT_EQ(::setenv("PADDOCK_STATE", at("a/b/state/").c_str(), 1), 0);
  EXPECT_EQ(state_directory().value(), at("a/b/state"));
}

TEST_F(StateTest, RefusesALink) {
  make("elsewhere");
  link("elsewhere", "state");
  Result<std::string> state = state_directory();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Code::denied);
  EXPECT_NE(state.error().message.find("symbolic link"), std::string::npos);
}

TEST_F(StateTest, RefusesWhatOthersMayWrite) {
  make("state");
  for (unsigned bits : {0720u, 0702u, 0777u}) {
    ASSERT_EQ(::chmod(at("state").c_str(), bits), 0);
    EXPECT_EQ(state_directory().error().code, Code::denied) << bits;
  }
}

TEST_F(StateTest, RefusesWhatBelongsToSomeoneElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a directory away";
  make("state");
  ASSERT_EQ(::chown(at("state").c_str(), 65534, 65534), 0);
  EXPECT_EQ(state_directory().error().code, Code::denied);
}

TEST_F(StateTest, RefusesAPartThatWasMadeByOthers) {
  ASSERT_TRUE(state_directory());
  make("elsewhere");
  link("../elsewhere", "state/images");
  EXPECT_FALSE(open_state("images"));
}

TEST_F(StateTest, RefusesARelativePath) {
  ASSERT_EQ(::setenv("PADDOCK_STATE", "state", 1), 0);
  EXPECT_EQ(state_directory().error().code, Code::invalid);
}

TEST_F(StateTest, ReadsPasswdByHand) {
  std::string passwd =
      "root:x:0:0:root:/root:/bin/sh\nbroken\nann:x:1000:1000:,,,:/home/ann:/bin/bash\n";
  EXPECT_EQ(home_of(1000, passwd), "/home/ann");
  EXPECT_EQ(home_of(7, passwd), "");
}

}  // namespace
}  // namespace paddock::store
