#include "store/copy_tree.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "store/overlay.h"
#include "store/store_test.h"

namespace paddock::store {

namespace {

class CopyTree : public StoreTest {
 protected:
  struct stat look(const std::string& path) const {
    struct stat info {};
    EXPECT_EQ(::lstat(at(path).c_str(), &info), 0) << path;
    return info;
  }
  void copy() {
    Result<Copied> copied = copy_tree(at("from"), at("to"));
    ASSERT_TRUE(copied) << copied.error().message;
    copied_ = copied.value();
  }
  Copied copied_;
};

}  // namespace

TEST_F(CopyTree, KeepsModesTimesLinksAndContent) {
  make("from");
  make("from/d");
  write("from/d/f", "text", 0751);
  link("../x", "from/d/l");
  ASSERT_EQ(::link(at("from/d/f").c_str(), at("from/second").c_str()), 0);
  ASSERT_EQ(::mkfifo(at("from/p").c_str(), 0600), 0);
  timespec times[2] = {{1000, 5}, {2000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, at("from/d").c_str(), times, 0), 0);
  ASSERT_EQ(::chmod(at("from/d").c_str(), 01711), 0);
  copy();
  EXPECT_EQ(read("to/d/f"), "text");
  EXPECT_EQ(mode("to/d/f"), 0751u);
  EXPECT_EQ(mode("to/d"), 01711u);
  EXPECT_EQ(look("to/d").st_mtim.tv_sec, 2000);
  EXPECT_EQ(look("to/d").st_mtim.tv_nsec, 7);
  EXPECT_EQ(look("to/d/f").st_ino, look("to/second").st_ino);
  EXPECT_TRUE(S_ISLNK(look("to/d/l").st_mode));
  EXPECT_TRUE(S_ISFIFO(look("to/p").st_mode));
  EXPECT_EQ(copied_.inodes, 5u);
}

TEST_F(CopyTree, KeepsWhatTheOverlayWrote) {
  make("from");
  make("from/opaque");
  ASSERT_EQ(::mknod(at("from/gone").c_str(), S_IFCHR | 0600, makedev(0, 0)), 0);
  if (::setxattr(at("from/opaque").c_str(), "user.overlay.opaque", "y", 1, 0) != 0)
    GTEST_SKIP() << "no user attributes here";
  copy();
  EXPECT_TRUE(is_whiteout(look("to/gone")));
  Fd opaque = open_file(at("to/opaque"), O_RDONLY).value();
  EXPECT_TRUE(overlay_marks(opaque.get()).opaque);
}

TEST_F(CopyTree, KeepsHoles) {
  make("from");
  write("from/sparse", "head");
  ASSERT_EQ(::truncate(at("from/sparse").c_str(), 64 << 20), 0);
  copy();
  EXPECT_EQ(look("to/sparse").st_size, 64 << 20);
  EXPECT_LT(look("to/sparse").st_blocks * 512, 1 << 20);
  EXPECT_EQ(read("to/sparse").substr(0, 5), std::string("head\0", 5));
}

TEST_F(CopyTree, CopesWithDeepTreesAndLockedDirectories) {
  make("from");
  Fd directory = open_file(at("from"), O_RDONLY | O_DIRECTORY).value();
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(::mkdirat(directory.get(), "d", 0755), 0);
    directory = Fd(::openat(directory.get(), "d", O_RDONLY | O_DIRECTORY));
  }
  Fd file(::openat(directory.get(), "bottom", O_WRONLY | O_CREAT, 0000));
  ASSERT_TRUE(write_all(file.get(), "x"));
  make("from/locked");
  write("from/locked/f", "y");
  ASSERT_EQ(::chmod(at("from/locked").c_str(), 0), 0);
  copy();
  EXPECT_EQ(copied_.inodes, 303u);
  EXPECT_EQ(mode("to/locked"), 0u);
  EXPECT_EQ(mode("from/locked"), 0u);
}

TEST_F(CopyTree, StopsWhenItIsTooMuchOrCalledOff) {
  make("from");
  write("from/a", std::string(100'000, 'x'));
  Result<Copied> copied = copy_tree(at("from"), at("to"), {.most_bytes = 1000});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::exhausted);
  std::atomic<bool> cancelled = true;
  copied = copy_tree(at("from"), at("again"), {.cancelled = &cancelled});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::conflict);
}

TEST_F(CopyTree, CountsEveryNameAndChargesForIt) {
  make("from");
  for (int i = 0; i < 2000; ++i) write(cat("from/", std::string(40, 'n'), i), "");
  Result<Copied> copied = copy_tree(at("from"), at("few"), {.most_inodes = 1000});
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, Code::exhausted);
  copied = copy_tree(at("from"), at("all"));
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(names("all").size(), 2000u);
  EXPECT_EQ(copied.value().bytes, 2000u * 4096);
}

}  // namespace paddock::store
