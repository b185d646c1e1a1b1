#include "store/archive.h"

#include <sys/mman.h>

#include "store/store_test.h"
#include "store/tar_test.h"

namespace paddock::store {
namespace {

class ArchiveTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    make("root");
    make("victim");
    write("victim/f", "precious");
  }
  void TearDown() override {
    EXPECT_EQ(read("victim/f"), "precious");
    EXPECT_EQ(names("victim"), std::vector<std::string>{"f"});
    EXPECT_EQ(names(""), (std::vector<std::string>{"archive", "root", "victim"}))
        << "something appeared outside";
    StoreTest::TearDown();
  }
  // Empty when it was unpacked, else the error's message.
  std::string unpack(const std::string& bytes, UnpackOptions options = {}) {
    write("archive", bytes);
    Fd archive = open_file(at("archive"), O_RDONLY).value();
    Fd root = open_file(at("root"), O_RDONLY | O_DIRECTORY).value();
    Result<void> done = unpack_archive(archive.get(), root.get(), options, report_);
    code_ = done ? Code::internal : done.error().code;
    return done ? "" : done.error().message;
  }

  UnpackReport report_;
  Code code_ = Code::internal;
};

TEST_F(ArchiveTest, UnpacksAnOrdinaryTarball) {
  Tar tar;
  tar.add({.name = "./", .type = '5', .mode = 0755})
      .add({.name = "./bin/", .type = '5', .mode = 0555});
  tar.add({.name = "./bin/sh", .content = "shell", .mode = 0755})
      .add({.name = "bin/bash", .type = '1', .target = "./bin/sh"});
  tar.add({.name = "sbin", .type = '2', .target = "/usr/sbin"})
      .add({.name = "implied/dir/f", .content = "x"});
  tar.add({.name = "caf\xc3\xa9", .content = "utf-8"})
      .add({.name = "raw\xff", .content = "not utf-8"});
  EXPECT_EQ(unpack(tar.bytes()), "");
  EXPECT_EQ(read("root/bin/bash"), "shell");
  EXPECT_EQ(mode("root/bin/sh"), 0755u);
  EXPECT_EQ(mode("root/bin"), 0755u) << "directories stay usable for their owner";
  EXPECT_EQ(read("root/implied/dir/f"), "x");
  EXPECT_EQ(read("root/caf\xc3\xa9"), "utf-8");
  EXPECT_EQ(read("root/raw\xff"), "not utf-8");
  EXPECT_TRUE(exists("root/sbin"));
}

TEST_F(ArchiveTest, RefusesAbsoluteNames) {  // P14
  EXPECT_NE(unpack(Tar().add({.name = at("victim/f"), .content = "evil"}).bytes()).find("absolute"),
            std::string::npos);
}

TEST_F(ArchiveTest, RefusesDotDot) {
  for (const char* name : {"../victim/f", "a/../../victim/f", "..", "a/.."})
    EXPECT_NE(unpack(Tar().add({.name = name, .content = "evil"}).bytes()).find("leads out"),
              std::string::npos)
        << name;
}

TEST_F(ArchiveTest, RefusesAFileThroughALink) {
  for (const char* target : {"../victim", "/", "elsewhere", "."}) {
    Tar tar;
    tar.add({.name = "link", .type = '2', .target = target})
        .add({.name = "link/f", .content = "evil"});
    EXPECT_NE(unpack(tar.bytes()).find("symbolic link"), std::string::npos) << target;
  }
}

TEST_F(ArchiveTest, ReplacesALinkInsteadOfWritingThroughIt) {
  Tar tar;
  tar.add({.name = "f", .type = '2', .target = "../victim/f"})
      .add({.name = "f", .content = "fine"});
  tar.add({.name = "d", .type = '2', .target = "../victim"})
      .add({.name = "d", .type = '5', .mode = 0755});
  tar.add({.name = "d/f", .content = "fine"});
  EXPECT_EQ(unpack(tar.bytes()), "");
  EXPECT_EQ(read("root/f"), "fine");
  EXPECT_EQ(read("root/d/f"), "fine");
}

TEST_F(ArchiveTest, RefusesHardLinksToAnythingElse) {
  EXPECT_NE(unpack(Tar().add({.name = "h", .type = '1', .target = "/etc/passwd"}).bytes())
                .find("absolute"),
            std::string::npos);
  EXPECT_NE(unpack(Tar().add({.name = "h", .type = '1', .target = "../victim/f"}).bytes())
                .find("leads out"),
            std::string::npos);
  EXPECT_NE(unpack(Tar().add({.name = "h", .type = '1', .target = "not/there"}).bytes())
                .find("hard link"),
            std::string::npos);
  Tar through;
  through.add({.name = "l", .type = '2', .target = "../victim"})
      .add({.name = "h", .type = '1', .target = "l/f"});
  EXPECT_NE(unpack(through.bytes()).find("hard link"), std::string::npos);
  Tar of_link;
  of_link.add({.name = "l2", .type = '2', .target = "../victim/f"})
      .add({.name = "h", .type = '1', .target = "l2"});
  EXPECT_NE(unpack(of_link.bytes()).find("hard link"), std::string::npos);
}

TEST_F(ArchiveTest, ADuplicateDoesNotChangeWhatIsLinkedToIt) {
  Tar tar;
  tar.add({.name = "a", .content = "first"})
      .add({.name = "b", .type = '1', .target = "a"})
      .add({.name = "a", .content = "second"});
  EXPECT_EQ(unpack(tar.bytes()), "");
  EXPECT_EQ(read("root/a"), "second");
  EXPECT_EQ(read("root/b"), "first");
}

TEST_F(ArchiveTest, LeavesDevicesOutAndSaysSo) {
  Tar tar;
  tar.add({.name = "dev/sda", .type = '3'})
      .add({.name = "pipe", .type = '6'})
      .add({.name = "f", .content = "x"});
  EXPECT_EQ(unpack(tar.bytes()), "");
  EXPECT_EQ(report_.skipped_devices, 2u);
  EXPECT_EQ(names("root"), std::vector<std::string>{"f"});
}

TEST_F(ArchiveTest, DropsSetuid) {  // L09
  EXPECT_EQ(unpack(Tar().add({.name = "su", .content = "x", .mode = 06755}).bytes()), "");
  EXPECT_EQ(mode("root/su"), 0755u);
  EXPECT_EQ(report_.dropped_setuid, 1u);
}

TEST_F(ArchiveTest, StopsAtTheByteLimit) {
  UnpackOptions options;
  options.limits.bytes = 1000;
  std::string content(600, 'x');
  EXPECT_NE(unpack(Tar()
                       .add({.name = "a", .content = content})
                       .add({.name = "b", .content = content})
                       .bytes(),
                   options),
            "");
  EXPECT_EQ(code_, Code::exhausted);
  report_ = {};
  EXPECT_NE(unpack(Tar().add({.name = "a", .content = "", .declared = uint64_t{1} << 32}).bytes(),
                   options),
            "");
  EXPECT_EQ(code_, Code::exhausted) << "by what it declares, before anything is written";
}

TEST_F(ArchiveTest, StopsAtTheEntryLimit) {
  UnpackOptions options;
  options.limits.entries = 50;
  Tar many;
  for (int i = 0; i < 60; ++i) many.add({.name = cat("f", i)});
  EXPECT_NE(unpack(many.bytes(), options), "");
  EXPECT_EQ(code_, Code::exhausted);
  report_ = {};
  Tar implied;
  for (int i = 0; i < 10; ++i) implied.add({.name = cat("d", i, "/a/b/c/d/e/f/g/h/x")});
  EXPECT_NE(unpack(implied.bytes(), options), "") << "directories that are only implied count";
}

TEST_F(ArchiveTest, RefusesWhatIsTooDeep) {
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "d/";
  EXPECT_FALSE(entry_path(deep + "f"));
  EXPECT_FALSE(entry_path(std::string(300, 'n')));
  EXPECT_FALSE(entry_path(std::string(5000, 'n')));
  EXPECT_EQ(entry_path(".//a/./b/").value(), "a/b");
  EXPECT_EQ(unpack(Tar().add({.name = "f"}).bytes()), "");
}

TEST_F(ArchiveTest, RefusesWhatIsNoArchive) {
  EXPECT_NE(unpack(std::string(5000, 'x')), "");
  EXPECT_NE(
      unpack(Tar().add({.name = "f", .content = std::string(5000, 'x')}).bytes().substr(0, 2000)),
      "")
      << "cut short";
}

TEST_F(ArchiveTest, AppliesWhiteoutsToLowerLayersOnly) {
  Tar below;
  below.add({.name = "d/old", .content = "x"})
      .add({.name = "e/old", .content = "x"})
      .add({.name = "e/gone", .content = "x"});
  EXPECT_EQ(unpack(below.bytes()), "");
  Tar layer;  // the opaque mark stands behind what its own layer adds
  layer.add({.name = "d/new", .content = "x"})
      .add({.name = "d/.wh..wh..opq"})
      .add({.name = "e/.wh.gone"})
      .add({.name = ".wh.never"});
  UnpackOptions options{.pass = UnpackOptions::Pass::whiteouts};
  EXPECT_EQ(unpack(layer.bytes(), options), "");
  options.pass = UnpackOptions::Pass::content;
  EXPECT_EQ(unpack(layer.bytes(), options), "");
  EXPECT_EQ(names("root/d"), std::vector<std::string>{"new"});
  EXPECT_EQ(names("root/e"), std::vector<std::string>{"old"});
}

TEST_F(ArchiveTest, WhiteoutsStayInside) {
  EXPECT_EQ(unpack(Tar().add({.name = "l", .type = '2', .target = "../victim"}).bytes()), "");
  UnpackOptions options{.pass = UnpackOptions::Pass::whiteouts};
  EXPECT_EQ(unpack(Tar().add({.name = "l/.wh.f"}).add({.name = "l/.wh..wh..opq"}).bytes(), options),
            "");
  for (const char* name : {"x/.wh...", "x/.wh.", "x/.wh.."})
    EXPECT_NE(unpack(Tar().add({.name = name}).bytes(), options), "") << name;
}

}  // namespace
}  // namespace paddock::store
