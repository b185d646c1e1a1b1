#include "linux/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/text.h"

namespace paddock::kernel {
namespace {

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock_tree_test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    path_ = path;
    root_ = open_file(path_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override {
    Fd tmp = open_file("/tmp", O_RDONLY | O_DIRECTORY).value();
    EXPECT_TRUE(remove_tree(tmp.get(), path_.substr(5)));
  }
  void write(const std::string& name, const std::string& text) {
    Fd file = open_file(path_ + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0644).value();
    ASSERT_TRUE(write_all(file.get(), text));
  }
  bool exists(const std::string& name) {
    struct stat info;
    return ::fstatat(root_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  }
  void make(const std::string& name) {
    ASSERT_EQ(::mkdirat(root_.get(), name.c_str(), 0755), 0) << name;
  }

  std::string path_;
  Fd root_;
};

TEST_F(TreeTest, OpensBeneathButNotThroughLinks) {
  make("d");
  write("d/f", "x");
  ASSERT_EQ(::symlinkat("/etc", root_.get(), "out"), 0);
  ASSERT_EQ(::symlinkat("d", root_.get(), "in"), 0);
  EXPECT_TRUE(open_beneath(root_.get(), "d/f", O_RDONLY));
  EXPECT_TRUE(open_beneath(root_.get(), "", O_RDONLY | O_DIRECTORY));
  EXPECT_FALSE(open_beneath(root_.get(), "out/passwd", O_RDONLY));
  EXPECT_FALSE(open_beneath(root_.get(), "in/f", O_RDONLY));
  EXPECT_FALSE(open_beneath(root_.get(), "../etc", O_RDONLY));
  EXPECT_FALSE(open_beneath(root_.get(), "/etc/passwd", O_RDONLY));
  EXPECT_FALSE(open_beneath(root_.get(), std::string("d\0/f", 4), O_RDONLY));
}

TEST_F(TreeTest, OpensAsRootInsideOnly) {
  write("passwd", "mine");
  ASSERT_EQ(::symlinkat("/passwd", root_.get(), "link"), 0);
  Fd file = open_as_root(root_.get(), "link", O_RDONLY).value();
  EXPECT_EQ(read_all(file.get(), 100).value(), "mine");
}

TEST_F(TreeTest, ListsNoMoreThanAsked) {
  for (const char* name : {"c", "a", "b"}) write(name, "");
  EXPECT_EQ(list_directory(root_.get(), 3).value(), (std::vector<std::string>{"a", "b", "c"}));
  Result<std::vector<std::string>> names = list_directory(root_.get(), 2);
  EXPECT_TRUE(!names && names.error().code == Code::exhausted);
}

TEST_F(TreeTest, RemovesTreeWithLinksAndLockedDirectories) {
  make("victim");
  write("victim/keep", "x");
  make("t");
  make("t/locked");
  write("t/locked/f", "x");
  ASSERT_EQ(::mkfifoat(root_.get(), "t/fifo", 0600), 0);
  ASSERT_EQ(::symlinkat("../victim", root_.get(), "t/link"), 0);
  ASSERT_EQ(::fchmodat(root_.get(), "t/locked", 0, 0), 0);
  EXPECT_TRUE(remove_tree(root_.get(), "t"));
  EXPECT_FALSE(exists("t"));
  EXPECT_TRUE(exists("victim/keep"));
}

TEST_F(TreeTest, RemovesLockedDirectoriesAsOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "already covered: not root";
  ASSERT_EQ(::fchown(root_.get(), 65534, 65534), 0);
  pid_t child = ::fork();
  if (child == 0) {
    bool ok = ::setgid(65534) == 0 && ::setuid(65534) == 0 &&
              ::mkdirat(root_.get(), "t", 0755) == 0 &&
              ::mkdirat(root_.get(), "t/locked", 0755) == 0 &&
              ::mkdirat(root_.get(), "t/locked/deep", 0) == 0 &&
              ::fchmodat(root_.get(), "t/locked", 0, 0) == 0 &&
              ::fchmodat(root_.get(), "t", 0555, 0) == 0 && remove_tree(root_.get(), "t");
    ::_exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(TreeTest, RemovesAndMeasuresTreesDeeperThanAnyPath) {
  make("t");
  Fd here = open_beneath(root_.get(), "t", O_RDONLY | O_DIRECTORY).value();
  constexpr int kDepth = 1200;
  std::string name(60, 'd');
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), name.c_str(), 0755), 0);
    here = open_beneath(here.get(), name, O_RDONLY | O_DIRECTORY).value();
  }
  Fd top = open_beneath(root_.get(), "t", O_RDONLY | O_DIRECTORY).value();
  EXPECT_EQ(measure_tree(top.get()).value().inodes, static_cast<uint64_t>(kDepth));
  EXPECT_TRUE(remove_tree(root_.get(), "t"));
  EXPECT_FALSE(exists("t"));
}

// More names than are read at once, and more hard links than a file's inode would tell.
TEST_F(TreeTest, CountsEveryNameAndStopsAtTheMost) {
  make("t");
  write("t/file", std::string(5000, 'x'));
  for (int i = 0; i < 3000; ++i)
    ASSERT_EQ(
        ::linkat(root_.get(), "t/file", root_.get(), cat("t/", std::string(40, 'n'), i).c_str(), 0),
        0);
  for (int i = 0; i < 500; ++i) make(cat("t/dir", i));
  Fd top = open_beneath(root_.get(), "t", O_RDONLY | O_DIRECTORY).value();
  TreeSize size = measure_tree(top.get()).value();
  EXPECT_EQ(size.inodes, 3501u);
  EXPECT_LT(size.bytes, 500u * 8192);
  EXPECT_EQ(measure_tree(top.get(), {.most_inodes = 100}).value().inodes, 100u);
  int asked = 0;
  Result<TreeSize> stopped = measure_tree(top.get(), {.stop = [&] { return ++asked > 2; }});
  EXPECT_TRUE(!stopped && stopped.error().code == Code::conflict);
  EXPECT_TRUE(remove_tree(root_.get(), "t"));
  EXPECT_FALSE(exists("t"));
}

TEST_F(TreeTest, RemovesMoreLevelsThanItRemembers) {
  make("t");
  Fd here = open_beneath(root_.get(), "t", O_RDONLY | O_DIRECTORY).value();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(::mkdirat(here.get(), "a", 0755), 0);
    ASSERT_EQ(::mkdirat(here.get(), "b", 0755), 0);
    here = open_beneath(here.get(), "a", O_RDONLY | O_DIRECTORY).value();
  }
  EXPECT_EQ(measure_tree(root_.get()).value().inodes, 10001u);
  EXPECT_TRUE(remove_tree(root_.get(), "t"));
  EXPECT_FALSE(exists("t"));
}

TEST_F(TreeTest, RemoveRefusesNamesThatAreNone) {
  for (const char* name : {"", ".", "..", "a/b"})
    EXPECT_FALSE(remove_tree(root_.get(), name)) << name;
  EXPECT_TRUE(remove_tree(root_.get(), "never there"));
}

TEST_F(TreeTest, LeavesMountsAlone) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  make("victim");
  write("victim/keep", "x");
  make("t");
  make("t/mount");
  pid_t child = ::fork();  // an own mount namespace, so that a failed test leaves no mount
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      ::_exit(2);
    std::string from = path_ + "/victim", to = path_ + "/t/mount";
    // Same st_dev.
    if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) != 0) ::_exit(3);
    ::_exit(remove_tree(root_.get(), "t") ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(exists("victim/keep"));
}

TEST_F(TreeTest, RemovesWhileSomeoneKeepsAddingAndStaysInside) {
  make("t");
  make("victim");
  write("victim/keep", "x");
  std::atomic<bool> stop = false;
  std::thread rival([&] {
    while (!stop) {
      (void)::mkdirat(root_.get(), "t", 0755);
      (void)::mkdirat(root_.get(), "t/d", 0755);
      [[maybe_unused]] bool first = ::symlinkat("../../victim", root_.get(), "t/d/link") == 0;
      (void)::renameat(root_.get(), "t/d", root_.get(), "t/e");
      (void)::unlinkat(root_.get(), "t/e", 0);
      [[maybe_unused]] bool second = ::symlinkat("../victim", root_.get(), "t/e") == 0;
    }
  });
  for (int i = 0; i < 200; ++i) (void)remove_tree(root_.get(), "t");
  stop = true;
  rival.join();
  EXPECT_TRUE(remove_tree(root_.get(), "t"));
  EXPECT_TRUE(exists("victim/keep"));
}

TEST_F(TreeTest, MeasuresBlocksOnceAndNotHoles) {
  write("f", std::string(8192, 'x'));
  ASSERT_EQ(::linkat(root_.get(), "f", root_.get(), "same", 0), 0);
  Fd sparse = open_file(path_ + "/sparse", O_WRONLY | O_CREAT, 0644).value();
  ASSERT_EQ(::ftruncate(sparse.get(), 1 << 30), 0);
  ASSERT_EQ(::fsync(open_file(path_ + "/f", O_RDONLY).value().get()), 0);
  TreeSize size = measure_tree(root_.get()).value();
  EXPECT_EQ(size.inodes, 3u);  // names
  EXPECT_GE(size.bytes, 8192u);
  EXPECT_LT(size.bytes, 1u << 20);
  EXPECT_EQ(size.unreadable, 0u);
}

}  // namespace
}  // namespace paddock::kernel
