#include "manager/keys.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace paddock::manager {
namespace {

class KeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock-keys-XXXXXX";
    folder_ = ::mkdtemp(path);
    ::setenv("PADDOCK_STATE", path, 1);  // where it is recorded
  }
  void TearDown() override {
    ::unsetenv("PADDOCK_STATE");
    std::filesystem::remove_all(folder_);
  }
  Keys open() { return std::move(Keys::open(folder_)).value(); }
  static KeyInfo wanted(const std::string& tenant = "local") {
    return {.id = "",
            .tenant = tenant,
            .name = "",
            .scopes = {"read"},
            .last_four = "",
            .created = 0,
            .expires = 0};
  }

  std::string folder_;
};

TEST_F(KeysTest, KnowsWhatItMadeAndNothingElse) {
  Keys keys = open();
  EXPECT_FALSE(keys.check("e2b_0000000000000000000000000000000000000000"));
  NewKey made = std::move(keys.create(wanted("a"))).value();
  EXPECT_EQ(made.key.size(), 44u);
  EXPECT_EQ(keys.check(made.key)->tenant, "a");
  EXPECT_FALSE(keys.check(made.key.substr(1)));
  EXPECT_FALSE(keys.check(made.key + "0"));
  EXPECT_FALSE(keys.check(""));
}

TEST_F(KeysTest, NoticesWhatAnotherProgramChanged) {
  Keys server = open(), command_line = open();
  NewKey made = std::move(command_line.create(wanted())).value();
  EXPECT_TRUE(server.check(made.key));
  EXPECT_TRUE(command_line.revoke(made.info.id));
  EXPECT_FALSE(server.check(made.key));
  EXPECT_EQ(command_line.revoke(made.info.id).error().code, Code::not_found);
}

TEST_F(KeysTest, LetsThemExpire) {
  Keys keys = open();
  KeyInfo past = wanted();
  past.expires = wall_time_now() - 1;
  NewKey made = std::move(keys.create(past)).value();
  EXPECT_FALSE(keys.check(made.key));
  EXPECT_EQ(keys.list().value().size(), 1u);
}

TEST_F(KeysTest, RefusesWhatIsNoTenantOrScope) {
  Keys keys = open();
  EXPECT_FALSE(keys.create(wanted("../x")));
  EXPECT_FALSE(keys.create(wanted("")));
  KeyInfo odd = wanted();
  odd.scopes = {"everything"};
  EXPECT_FALSE(keys.create(odd));
  odd.scopes = {};
  EXPECT_FALSE(keys.create(odd));
}

TEST_F(KeysTest, LetsNobodyInWhenTheFileIsBroken) {
  Keys keys = open();
  NewKey made = std::move(keys.create(wanted())).value();
  {
    Fd file = std::move(open_file(folder_ + "/keys.json", O_WRONLY | O_TRUNC)).value();
    ASSERT_TRUE(write_all(file.get(), "{}"));
  }
  EXPECT_FALSE(keys.check(made.key));
  EXPECT_FALSE(Keys::open(folder_));
}

}  // namespace
}  // namespace paddock::manager
