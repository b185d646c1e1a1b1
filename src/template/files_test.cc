#include "template/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "linux/tree.h"

namespace paddock::templates {
namespace {

class BuildFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock_files_test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    base_ = path;
    files_.emplace(BuildFiles::open(base_ + "/files").value());
  }
  void TearDown() override {
    Fd tmp = open_file("/tmp", O_RDONLY | O_DIRECTORY).value();
    EXPECT_TRUE(kernel::remove_tree(tmp.get(), base_.substr(5)));
  }
  size_t count() const {
    return kernel::list_directory(open_file(base_ + "/files", O_RDONLY | O_DIRECTORY).value().get())
        .value()
        .size();
  }

  Result<void> write(BuildFiles::Upload& upload, std::string_view bytes) {
    Result<void> charged = files_->charge(upload, bytes.size());
    return charged ? write_all(upload.file.get(), bytes) : std::move(charged);
  }

  std::string base_, hash_ = std::string(64, 'a');
  std::optional<BuildFiles> files_;
};

TEST_F(BuildFilesTest, AreThereOnceTheyCameWhole) {
  auto upload = files_->begin(files_->permit("t", hash_).value()).value();
  ASSERT_TRUE(write(*upload, "abc"));
  EXPECT_FALSE(files_->has("t", hash_));
  ASSERT_TRUE(files_->finish(*upload));
  EXPECT_TRUE(files_->has("t", hash_));
  EXPECT_EQ(read_all(files_->read("t", hash_).value().get(), 100).value(), "abc");
}

TEST_F(BuildFilesTest, LeaveNothingWhenTheClientGoes) {
  { auto upload = files_->begin(files_->permit("t", hash_).value()).value(); }
  EXPECT_EQ(count(), 0u);
}

TEST_F(BuildFilesTest, BelongToTheirTenant) {
  auto upload = files_->begin(files_->permit("t", hash_).value()).value();
  ASSERT_TRUE(files_->finish(*upload));
  EXPECT_FALSE(files_->has("other", hash_));
  EXPECT_FALSE(files_->read("other", hash_));
}

TEST_F(BuildFilesTest, APermitWorksOnce) {
  std::string permit = files_->permit("t", hash_).value();
  EXPECT_TRUE(files_->begin(permit));
  EXPECT_FALSE(files_->begin(permit));
  EXPECT_FALSE(files_->begin("guessed"));
}

TEST_F(BuildFilesTest, OfTooManyPermitsTheTenantsOldestGoes) {
  std::string first = files_->permit("t", hash_).value(),
              others = files_->permit("other", hash_).value(),
              second = files_->permit("t", hash_).value();
  for (int i = 0; i < 199; ++i) (void)files_->permit("t", hash_);
  EXPECT_FALSE(files_->begin(first));
  EXPECT_TRUE(files_->begin(second));
  EXPECT_TRUE(files_->begin(others));
}

TEST_F(BuildFilesTest, UploadsUnderWayCountToo) {
  auto kept = files_->begin(files_->permit("t", hash_).value()).value();
  ASSERT_TRUE(files_->finish(*kept));
  std::string name =
      kernel::list_directory(open_file(base_ + "/files", O_RDONLY | O_DIRECTORY).value().get())
          .value()[0];
  ASSERT_EQ(::truncate(cat(base_, "/files/", name).c_str(), (off_t{4} << 30) - 10), 0);
  auto one = files_->begin(files_->permit("t", std::string(64, 'b')).value()).value();
  auto two = files_->begin(files_->permit("t", std::string(64, 'c')).value()).value();
  EXPECT_TRUE(write(*one, "123456"));
  EXPECT_EQ(write(*two, "123456").error().code, Code::exhausted);
  two.reset();
  EXPECT_TRUE(write(*one, "7890"));
  EXPECT_TRUE(files_->finish(*one));
  EXPECT_FALSE(files_->begin(files_->permit("t", hash_).value()));
}

}  // namespace
}  // namespace paddock::templates
