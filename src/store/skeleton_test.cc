#include "store/skeleton.h"

#include "store/skeleton_accounts.h"
#include "store/skeleton_tree.h"
#include "store/store_test.h"

namespace paddock::store {
namespace {

class SkeletonTest : public StoreTest {
 protected:
  Result<void> make_both() {
    TRY(make_skeleton(at("root")));
    return make_skeleton_usr(at("usr"), closed_in_usr());
  }
};

TEST_F(SkeletonTest, HasAUserASuperuserAndAHome) {
  Result<void> made = make_both();
  if (!made && made.error().code == Code::unsupported) GTEST_SKIP() << made.error().message;
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(read("root/etc/passwd").find("user:x:1000:1000::/home/user:/bin/bash\n"),
            std::string::npos);
  EXPECT_NE(read("root/etc/group").find("sudo:x:27:user\n"), std::string::npos);
  EXPECT_EQ(mode("root/tmp"), 01777u);
  EXPECT_EQ(mode("root/root"), 0700u);
  EXPECT_EQ(mode("root/etc/shadow"), 0640u);
  EXPECT_TRUE(exists("root/home/user/.bashrc") || !exists("root/etc/skel/.bashrc"));
  EXPECT_TRUE(exists("usr/bin/sudo"));
}

TEST_F(SkeletonTest, HasNothingOfTheHostsSecrets) {
  if (!make_both()) GTEST_SKIP() << "this host cannot be a template";
  for (const char* path : {"root/etc/ssh", "root/etc/ssl/private", "root/etc/apt/auth.conf",
                           "root/etc/gshadow-", "root/etc/shadow-", "root/etc/sudoers"})
    EXPECT_FALSE(exists(path)) << path;
  EXPECT_EQ(read("root/etc/shadow").find('$'), std::string::npos);  // no hash of any password
}

// Root inside may read what the host's root may: so nothing of it is left to be seen.
TEST_F(SkeletonTest, HidesWhatIsClosedInUsr) {
  if (!has_disk_ids()) GTEST_SKIP() << "needs root: others cannot read it anyway";
  if (!make_both()) GTEST_SKIP() << "this host cannot be a template";
  int closed = 0;
  for (const char* path : {"/share/polkit-1/rules.d", "/lib/dbus-1.0/dbus-daemon-launch-helper",
                           "/libexec/openssh/ssh-keysign", "/lib/cups/backend/cups-pdf"}) {
    struct stat host, over;
    if (::lstat(cat("/usr", path).c_str(), &host) != 0 || (host.st_mode & S_IROTH)) continue;
    ++closed;
    ASSERT_EQ(::lstat(at(cat("usr", path)).c_str(), &over), 0) << path;
    EXPECT_TRUE(S_ISCHR(over.st_mode) && over.st_rdev == 0) << path;
  }
  if (closed == 0) GTEST_SKIP() << "nothing of that is closed on this host";
}

TEST_F(SkeletonTest, TheFingerprintIsTheSameUntilSomethingChanges) {
  EXPECT_EQ(skeleton_fingerprint().value(), skeleton_fingerprint().value());
}

TEST_F(SkeletonTest, WhatNotEverybodyMayReadIsNotCopied) {
  make("host");
  make("host/closed");
  write("host/open", "1");
  write("host/secret", "2", 0640);
  write("host/closed/inner", "3");
  link("open", "host/link");
  ASSERT_EQ(::chmod(at("host/closed").c_str(), 0700), 0);
  SkeletonTree tree = SkeletonTree::create(at("tree")).value();
  ASSERT_TRUE(tree.copy_to(at("host"), "/etc", nullptr, {}));
  EXPECT_EQ(names("tree/etc"), (std::vector<std::string>{"link", "open"}));
}

TEST_F(SkeletonTest, AnImageGetsTheUserAndKeepsItsOwn) {
  make("image");
  make("image/bin");
  make("image/etc");
  write("image/bin/sh", "", 0755);
  write("image/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nuser:x:7:7::/srv:/bin/sh\n");
  link("/nowhere/at/all", "image/etc/resolv.conf");
  ASSERT_TRUE(copy_image_root(at("image"), at("root")));
  EXPECT_EQ(read("root/etc/passwd"), read("image/etc/passwd"));  // has one of that name
  EXPECT_EQ(mode("root/bin/sh"), 0755u);
  EXPECT_EQ(mode("root/tmp"), 01777u);
  EXPECT_TRUE(exists("root/home/user"));
  EXPECT_TRUE(exists("root/bin/sudo"));
}

TEST(Accounts, AreAddedOnce) {
  EXPECT_EQ(with_account("root:x:0:", "user:x:1:"), "root:x:0:\nuser:x:1:\n");
  EXPECT_EQ(with_account("user:x:5:\n", "user:x:1:"), "user:x:5:\n");
  EXPECT_EQ(with_account("user2:x:5:\n", "user:x:1:"), "user2:x:5:\nuser:x:1:\n");
}

}  // namespace
}  // namespace paddock::store
