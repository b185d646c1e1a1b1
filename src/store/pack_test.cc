#include "store/pack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/fd.h"
#include "store/archive.h"

namespace paddock::store {
namespace {

namespace fs = std::filesystem;

class PackTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/paddock-test-pack-XXXXXX";
    folder_ = ::mkdtemp(name);
    fs::create_directories(folder_ / "from/a/b");
    fs::create_directories(folder_ / "to");
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    std::ofstream(folder_ / path) << text;
  }
  std::string read(const std::string& path) {
    std::ifstream file(folder_ / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Fd open(const char* name) {
    return Fd(::open((folder_ / name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  // Through a pipe, as a copy does.
  Result<void> there_and_back() {
    Pipe pipe = TRY(make_pipe());
    Result<void> packed;
    std::thread packer([&] {
      Fd from = open("from");
      packed = pack_directory(
          from.get(), [&](std::string_view bytes) { return write_all(pipe.write.get(), bytes); });
      pipe.write.reset();
    });
    UnpackReport report;
    Fd to = open("to");
    Result<void> unpacked = unpack_archive(pipe.read.get(), to.get(), {}, report);
    char rest[4096];
    while (::read(pipe.read.get(), rest, sizeof rest) > 0) {}
    packer.join();
    TRY(std::move(packed));
    return unpacked;
  }

  fs::path folder_;
};

TEST_F(PackTest, KeepsContentModesLinksAndNames) {
  write("from/a/b/ü \xff.txt", "content");
  write("from/run.sh", "#!/bin/sh");
  fs::permissions(folder_ / "from/run.sh", fs::perms(0755));
  fs::create_symlink("b", folder_ / "from/a/link");
  fs::create_directories(folder_ / "from/empty");
  Result<void> done = there_and_back();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read("to/a/b/ü \xff.txt"), "content");
  EXPECT_EQ(fs::status(folder_ / "to/run.sh").permissions(), fs::perms(0755));
  EXPECT_EQ(fs::read_symlink(folder_ / "to/a/link"), "b");
  EXPECT_TRUE(fs::is_directory(folder_ / "to/empty"));
}

TEST_F(PackTest, LeavesOutWhatIsNoFileAndDoesNotWaitForIt) {
  ASSERT_EQ(::mkfifo((folder_ / "from/pipe").c_str(), 0600), 0);
  write("from/file", "x");
  Result<void> done = there_and_back();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(read("to/file"), "x");
  EXPECT_FALSE(fs::exists(folder_ / "to/pipe"));
}

TEST_F(PackTest, DoesNotFollowALinkOutOfTheDirectory) {
  write("secret", "s");
  fs::create_symlink(folder_ / "secret", folder_ / "from/link");
  ASSERT_TRUE(there_and_back());
  EXPECT_TRUE(fs::is_symlink(folder_ / "to/link"));
}

TEST_F(PackTest, LargeFilesAreNotHeldInMemoryAndComeWhole) {
  std::string large(5'000'001, 'x');
  write("from/large", large);
  ASSERT_TRUE(there_and_back());
  EXPECT_EQ(read("to/large"), large);
}

TEST_F(PackTest, TellsWhyTheSinkRefused) {
  write("from/file", std::string(100'000, 'x'));
  Fd from = open("from");
  Result<void> done = pack_directory(from.get(), [](std::string_view) -> Result<void> {
    return Error{Code::io, "no more", ""};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "no more");
}

}  // namespace
}  // namespace paddock::store
