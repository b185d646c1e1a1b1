#include "guest/users.h"

#include <gtest/gtest.h>

namespace paddock::guest {

namespace {

const Users kUsers(
    "root:x:0:0:root:/root:/bin/bash\n"
    "broken line\n"
    "huge:x:4294967295:1::/:/bin/sh\n"
    "negative:x:-1:1::/:/bin/sh\n"
    "user:x:1000:1001:,,,:/home/user:\n"
    "relative:x:7:7::home:/bin/sh\n",
    "root:x:0:\nsudo:x:27:other,user\nuser:x:1001:\nstaff:x:50:user\nbad:x:nine:user\n");

TEST(UsersTest, FindsByNameAndNumberWithItsGroups) {
  Result<User> user = kUsers.find("user");
  ASSERT_TRUE(user);
  EXPECT_EQ(user.value().uid, 1000u);
  EXPECT_EQ(user.value().gid, 1001u);
  EXPECT_EQ(user.value().shell, "/bin/sh");
  EXPECT_EQ(user.value().groups, (std::vector<uint32_t>{27, 50}));
  EXPECT_EQ(kUsers.find("1000").value().name, "user");
  EXPECT_TRUE(kUsers.is_in(user.value(), "sudo"));
  EXPECT_FALSE(kUsers.is_in(kUsers.find("root").value(), "sudo"));
}

TEST(UsersTest, RefusesWhoIsNotThere) {
  for (const char* name : {"nobody", "huge", "negative", "", "1234", "broken line"}) {
    Result<User> user = kUsers.find(name);
    ASSERT_FALSE(user) << name;
    EXPECT_EQ(user.error().message, std::string("invalid username: '") + name + "'");
    EXPECT_EQ(user.error().kind, Kind::unauthenticated);
  }
}

TEST(UsersTest, RootIsAlwaysThere) { EXPECT_EQ(Users("", "").find("root").value().uid, 0u); }

TEST(UsersTest, AHomeIsAbsolute) { EXPECT_EQ(kUsers.find("relative").value().home, "/"); }

TEST(UsersTest, NamesOfNumbers) {
  EXPECT_EQ(kUsers.name_of(1000), "user");
  EXPECT_EQ(kUsers.name_of(55), "55");
  EXPECT_EQ(kUsers.group_name_of(27), "sudo");
}

}  // namespace

}  // namespace paddock::guest
