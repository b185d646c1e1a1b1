#include "manager/volumes.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace paddock::manager {
namespace {

class VolumesTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock_volumes_test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    path_ = path;
    server_ = open_file(path_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  std::unique_ptr<Volumes> open() { return Volumes::open(server_.get(), path_, ledger_).value(); }

  std::string path_;
  Fd server_;
  Ledger ledger_{0};
  Quota none_;
};

TEST_F(VolumesTest, AreFoundAgainByTheirTenantAlone) {
  std::string id;
  {
    std::unique_ptr<Volumes> volumes = open();
    Result<VolumeInfo> made = volumes->create("one", none_, "data", 1 << 20);
    ASSERT_TRUE(made) << made.error().message;
    id = made.value().id;
    EXPECT_TRUE(std::filesystem::is_directory(made.value().directory));
  }
  std::unique_ptr<Volumes> volumes = open();
  EXPECT_EQ(volumes->find("one", "data").value().id, id);
  EXPECT_EQ(volumes->find("one", id).value().name, "data");
  EXPECT_FALSE(volumes->find("two", "data"));
  EXPECT_TRUE(volumes->list("two").empty());
  ASSERT_TRUE(volumes->find_by_id(id));
  EXPECT_EQ(volumes->find_by_id("nobody"), nullptr);
}

TEST_F(VolumesTest, RefuseBadNamesSecondOnesAndUnlimitedSizes) {
  std::unique_ptr<Volumes> volumes = open();
  EXPECT_EQ(volumes->create("one", none_, "a b", 0).error().code, Code::invalid);
  ASSERT_TRUE(volumes->create("one", none_, "data", 0));
  EXPECT_EQ(volumes->create("one", none_, "data", 0).error().code, Code::conflict);
  EXPECT_TRUE(volumes->create("two", none_, "data", 0));
  Quota limited{.disk_bytes = 1000};
  EXPECT_EQ(volumes->create("three", limited, "data", 0).error().code, Code::invalid);
  EXPECT_EQ(volumes->create("three", limited, "data", 2000).error().code, Code::exhausted);
  EXPECT_TRUE(volumes->create("three", limited, "data", 1000));
}

TEST_F(VolumesTest, WhatIsReservedCountsUntilItIsMeasured) {
  std::unique_ptr<Volumes> volumes = open();
  std::string id = volumes->create("one", none_, "data", 100).value().id;
  EXPECT_TRUE(volumes->reserve(id, 60));
  EXPECT_FALSE(volumes->reserve(id, 60));
  EXPECT_FALSE(volumes->reserve("nobody", 1));
  EXPECT_EQ(volumes->touched().count(id), 1u);
  volumes->measuring(id);
  EXPECT_TRUE(volumes->reserve(id, 10));  // meanwhile
  volumes->measured(id, uint64_t{30});
  EXPECT_EQ(volumes->find_by_id(id)->used_bytes, 40u);
  volumes->measuring(id);
  volumes->measured(id, Error{Code::io, "measure: it does not", ""});
  EXPECT_EQ(volumes->touched().count(id), 1u);
  volumes->measuring("nobody");
  volumes->measured("nobody", uint64_t{1});
}

TEST_F(VolumesTest, AreGoneOnceTheirRecordIs) {
  std::unique_ptr<Volumes> volumes = open();
  std::string id = volumes->create("one", none_, "data", 0).value().id;
  Result<std::string> directory = volumes->remove(id);
  ASSERT_TRUE(directory);
  EXPECT_FALSE(volumes->find("one", "data"));
  EXPECT_FALSE(volumes->remove(id));
  // The server was killed before it removed the directory: the next one does.
  EXPECT_TRUE(std::filesystem::exists(directory.value()));
  volumes = open();
  EXPECT_FALSE(std::filesystem::exists(directory.value()));
}

TEST_F(VolumesTest, WhatCannotBeReadIsLeftAlone) {
  std::string id = open()->create("one", none_, "data", 0).value().id;
  std::ofstream(path_ + "/volumes/" + id + "/record.json") << "not json";
  std::filesystem::create_directory(path_ + "/volumes/stranger");
  std::ofstream(path_ + "/volumes/file") << "x";
  std::unique_ptr<Volumes> volumes = open();
  EXPECT_TRUE(volumes->list("one").empty());
  EXPECT_TRUE(std::filesystem::exists(path_ + "/volumes/" + id + "/data"));
  EXPECT_TRUE(std::filesystem::exists(path_ + "/volumes/stranger"));
}

TEST_F(VolumesTest, AreMeasuredWithWhatNobodyMayRead) {
  std::string directory = open()->create("one", none_, "data", 0).value().directory;
  std::filesystem::create_directory(directory + "/locked");
  std::ofstream(directory + "/locked/file") << std::string(100'000, 'x');
  std::filesystem::permissions(directory + "/locked", std::filesystem::perms::none);
  Result<uint64_t> used = measure_volume(directory);
  ASSERT_TRUE(used) << used.error().message;
  EXPECT_GE(used.value(), 100'000u);
  EXPECT_FALSE(measure_volume(directory + "/nothing"));
}

}  // namespace
}  // namespace paddock::manager
