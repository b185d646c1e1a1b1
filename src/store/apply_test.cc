#include "store/apply.h"

#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "store/change_test.h"

namespace paddock::store {
namespace {

using ApplyTest = ChangeTest;

TEST_F(ApplyTest, TakesEverythingOver) {
  write("ws/changed", "old");
  write("ws/removed", "old");
  make("ws/tree");
  write("ws/tree/f", "old");
  start();
  write(up_ + "changed", "new");
  whiteout("removed");
  whiteout("tree");
  make(up_ + "dir");
  write(up_ + "dir/added", "new", 0755);
  link("dir/added", up_ + "link");
  EXPECT_EQ(take(), (Lines{"applied changed", "applied dir", "applied dir/added", "applied link",
                           "applied removed", "applied tree", "applied tree/f"}));
  EXPECT_TRUE(everything_);
  EXPECT_EQ(read("ws/changed"), "new");
  EXPECT_EQ(read("ws/link"), "new");
  EXPECT_EQ(mode("ws/dir/added"), 0755u);
  EXPECT_EQ(names("ws"), (Lines{"changed", "dir", "link"}));
  EXPECT_EQ(seen(), Lines{});
}

TEST_F(ApplyTest, ASecondTimeChangesNothing) {
  write("ws/f", "old");
  start();
  write(up_ + "f", "new", 0666);
  EXPECT_EQ(take({"f"}), Lines{"applied f"});
  write("ws/f", "edited afterwards");
  EXPECT_EQ(take({"f"}), Lines{"already f"});
  EXPECT_EQ(take(), Lines{});
  EXPECT_EQ(read("ws/f"), "edited afterwards");
}

TEST_F(ApplyTest, DryRunWritesNothing) {
  write("ws/f", "old");
  start();
  write(up_ + "f", "new");
  EXPECT_EQ(take({}, {.dry_run = true}), Lines{"applied f"});
  EXPECT_FALSE(everything_);
  EXPECT_EQ(read("ws/f"), "old");
  EXPECT_EQ(take(), Lines{"applied f"});
}

TEST_F(ApplyTest, ScrubsModesAndOwners) {  // P17
  write("ws/was-setuid", "old", 0755);
  start();
  write(up_ + "setuid", "x", 06777);
  write(up_ + "was-setuid", "old", 04755);
  make(up_ + "dir");
  ASSERT_EQ(::chmod(at(up_ + "dir").c_str(), 07777), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(at(up_ + "setuid").c_str(), 12345, 12345), 0);
    ASSERT_EQ(::chmod(at(up_ + "setuid").c_str(), 06777), 0);
    ASSERT_EQ(::chown(at("ws").c_str(), 65534, 65534), 0);
    set_.owner_uid = set_.owner_gid = 65534;
  }
  EXPECT_EQ(take(), (Lines{"applied dir", "applied setuid"}));
  EXPECT_EQ(mode("ws/setuid"), 0775u);
  EXPECT_EQ(mode("ws/dir"), 0775u);
  EXPECT_EQ(mode("ws/was-setuid"), 0755u);
  struct stat info;
  ASSERT_EQ(::stat(at("ws/setuid").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, ::geteuid() == 0 ? 65534u : ::geteuid());
}

TEST_F(ApplyTest, CarriesNoAttributesOver) {
  start();
  write(up_ + "f", "x");
  mark("f", "user.mine", "x");
  EXPECT_EQ(take(), Lines{"applied f"});
  EXPECT_EQ(::listxattr(at("ws/f").c_str(), nullptr, 0), 0);
}

TEST_F(ApplyTest, HardLinksBecomeCopies) {  // P02
  start();
  write(up_ + "a", "x");
  ASSERT_EQ(::link(at(up_ + "a").c_str(), at(up_ + "b").c_str()), 0);
  EXPECT_EQ(take(), (Lines{"applied a", "applied b"}));
  struct stat a, b;
  ASSERT_EQ(::stat(at("ws/a").c_str(), &a), 0);
  ASSERT_EQ(::stat(at("ws/b").c_str(), &b), 0);
  EXPECT_NE(a.st_ino, b.st_ino);
}

TEST_F(ApplyTest, AHostFileWithOtherNamesKeepsThem) {
  write("ws/f", "old");
  ASSERT_EQ(::link(at("ws/f").c_str(), at("elsewhere").c_str()), 0);
  start();
  write(up_ + "f", "new");
  EXPECT_EQ(take(), Lines{"applied f"});
  EXPECT_EQ(read("elsewhere"), "old") << "replaced, not written through";
}

TEST_F(ApplyTest, OverwritesNothingTheHostChanged) {  // P13
  write("ws/f", "old");
  start();
  write("ws/f", "by the host");
  write(up_ + "f", "by the program");
  write("ws/g", "by the host");
  write(up_ + "g", "by the program");
  EXPECT_EQ(take({}, {.accept_flagged = true}), (Lines{"refused f", "refused g"}));
  EXPECT_EQ(take({"f", "g"}), (Lines{"refused f", "refused g"})) << "naming it does not help";
  EXPECT_EQ(read("ws/f"), "by the host");
  EXPECT_EQ(read("ws/g"), "by the host");
  EXPECT_EQ(names("ws"), (Lines{"f", "g"})) << "no temporary is left";
}

TEST_F(ApplyTest, KeepsADirectoryTheHostAddedTo) {
  make("ws/d");
  write("ws/d/old", "x");
  start();
  whiteout("d");
  write("ws/d/new", "by the host");
  EXPECT_EQ(take(), (Lines{"refused d", "refused d/new", "applied d/old"}));
  EXPECT_EQ(names("ws/d"), Lines{"new"});
}

TEST_F(ApplyTest, NeverFollowsALinkOut) {  // P01, P22
  make("victim");
  write("victim/f", "precious");
  link("../victim", "ws/d");
  link("../victim/f", "ws/f");
  start();
  make(up_ + "d");  // the program replaced both links
  write(up_ + "d/f", "evil");
  write(up_ + "f", "evil");
  link("../victim", up_ + "out");
  link("/etc", up_ + "etc");
  EXPECT_EQ(take(), (Lines{"applied d", "applied d/f", "refused etc", "applied f", "refused out"}));
  EXPECT_EQ(read("victim/f"), "precious");
  EXPECT_EQ(read("ws/d/f"), "evil");
  EXPECT_FALSE(exists("ws/out"));
}

TEST_F(ApplyTest, StaysInsideWhileTheHostSwapsADirectory) {  // P11
  make("victim");
  make("ws/d");
  start();
  make(up_ + "d");
  for (int i = 0; i < 200; ++i) write(up_ + "d/f" + std::to_string(i), "x");
  std::atomic<bool> stop = false;
  std::thread rival([&] {
    while (!stop) {
      (void)::rename(at("ws/d").c_str(), at("ws/moved").c_str());
      [[maybe_unused]] bool made = ::symlink("../victim", at("ws/d").c_str()) == 0;
      (void)::unlink(at("ws/d").c_str());
      (void)::rename(at("ws/moved").c_str(), at("ws/d").c_str());
    }
  });
  for (int i = 0; i < 20; ++i) (void)take();
  stop = true;
  rival.join();
  EXPECT_TRUE(names("victim").empty());
}

TEST_F(ApplyTest, LeavesFlaggedUnlessNamed) {
  start();
  write(up_ + ".envrc", "x");
  write(up_ + ".npmrc", "x");
  write(up_ + "f", "x");
  EXPECT_EQ(take(), (Lines{"flagged .envrc", "flagged .npmrc", "applied f"}));
  EXPECT_FALSE(everything_);
  EXPECT_EQ(names("ws"), Lines{"f"});
  EXPECT_EQ(take({"./.envrc"}), Lines{"applied .envrc"});
  EXPECT_EQ(take({}, {.accept_flagged = true}), Lines{"applied .npmrc"});
  EXPECT_TRUE(everything_);
}

TEST_F(ApplyTest, NamingADirectoryDoesNotNameWhatIsFlaggedInIt) {
  start();
  make(up_ + "d");
  make(up_ + "d/.vscode");
  write(up_ + "d/.vscode/tasks.json", "{}");
  write(up_ + "d/f", "x");
  EXPECT_EQ(take({"d"}), (Lines{"applied d", "applied d/.vscode", "flagged d/.vscode/tasks.json",
                                "applied d/f"}));
}

TEST_F(ApplyTest, DeniedStaysDenied) {  // P08
  start({"**/.env"});
  write(up_ + ".env", "x");
  write(up_ + "f", "x");
  EXPECT_EQ(take({".env"}, {.accept_flagged = true}), Lines{"refused .env"});
  EXPECT_EQ(take({}, {.denied = [](const std::string& path) { return path == "f"; }}),
            (Lines{"refused .env", "refused f"}));
  EXPECT_TRUE(names("ws").empty());
}

TEST_F(ApplyTest, MakesTheDirectoriesAbove) {
  start();
  make(up_ + "a");
  make(up_ + "a/b");
  write(up_ + "a/b/c", "x");
  write(up_ + "a/other", "x");
  EXPECT_EQ(take({"a/b/c"}), Lines{"applied a/b/c"});
  EXPECT_EQ(names("ws/a"), Lines{"b"});
  EXPECT_EQ(read("ws/a/b/c"), "x");
}

TEST_F(ApplyTest, SaysWhenTheRunDidNotChangeIt) {
  write("ws/f", "x");
  start();
  EXPECT_EQ(take({"f"}), Lines{"refused f"});
  EXPECT_EQ(take({"../f"}), Lines{"refused ../f"});
}

TEST_F(ApplyTest, FilesAndDirectoriesTradePlaces) {
  make("ws/d");
  write("ws/d/f", "x");
  write("ws/f", "x");
  start();
  write(up_ + "d", "now a file");
  make(up_ + "f");
  write(up_ + "f/inside", "x");
  EXPECT_EQ(take(), (Lines{"applied d", "applied d/f", "applied f", "applied f/inside"}));
  EXPECT_EQ(read("ws/d"), "now a file");
  EXPECT_EQ(read("ws/f/inside"), "x");
}

TEST_F(ApplyTest, ChangesOnlyTheMode) {
  write("ws/f", "x", 0600);
  make("ws/d");
  start();
  write(up_ + "f", "x", 0755);
  make(up_ + "d");
  ASSERT_EQ(::chmod(at(up_ + "d").c_str(), 0700), 0);
  EXPECT_EQ(take(), (Lines{"applied d", "applied f"}));
  EXPECT_EQ(mode("ws/f"), 0755u);
  EXPECT_EQ(mode("ws/d"), 0700u);
  EXPECT_EQ(seen(), Lines{});
}

TEST_F(ApplyTest, AModeDoesNotReachOtherNamesOfTheFile) {  // P02
  write("ws/f", "x", 0600);
  ASSERT_EQ(::link(at("ws/f").c_str(), at("elsewhere").c_str()), 0);
  start();
  write(up_ + "f", "x", 0644);
  EXPECT_EQ(take(), Lines{"applied f"});
  EXPECT_EQ(mode("ws/f"), 0644u);
  EXPECT_EQ(mode("elsewhere"), 0600u);
}

TEST_F(ApplyTest, ASparseFileStaysSparse) {  // P16
  start();
  Fd file = open_file(at(up_ + "sparse"), O_WRONLY | O_CREAT, 0644).value();
  ASSERT_EQ(::pwrite(file.get(), "end", 3, off_t{1} << 32), 3);
  file.reset();
  EXPECT_EQ(take(), Lines{"applied sparse"});
  struct stat info;
  ASSERT_EQ(::stat(at("ws/sparse").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, (off_t{1} << 32) + 3);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST_F(ApplyTest, WaitsForNobodyWhileTheRunHoldsTheSet) {
  start();
  ChangeSet other = open_change_set(set_.id).value();
  EXPECT_EQ(apply(other, {}, {}).error().code, Code::conflict);
}

TEST_F(ApplyTest, WorksForAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "already covered: not root";
  ASSERT_EQ(::chown(base_.c_str(), 65534, 65534), 0);
  ASSERT_EQ(::chown(at("ws").c_str(), 65534, 65534), 0);
  pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
    write("ws/f", "old");
    start();
    write(up_ + "f", "new");
    write("ws/locked", "x");
    whiteout("gone");
    bool ok = take() == Lines{"applied f"} && read("ws/f") == "new";
    ::_exit(ok && discard_change_set(std::move(set_)) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace paddock::store
