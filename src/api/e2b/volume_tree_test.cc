#include "api/e2b/volume_tree.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"

namespace paddock::api {
namespace {

class VolumeTreeTest : public testing::Test {
 protected:
  VolumeTreeTest() {
    char path[] = "/tmp/paddock-volume-XXXXXX";
    directory_ = ::mkdtemp(path);
  }
  ~VolumeTreeTest() override { std::filesystem::remove_all(directory_); }
  VolumeTree tree() { return VolumeTree::open(directory_).value(); }
  std::string directory_;
};

TEST_F(VolumeTreeTest, MakesParentsFromTheTop) {
  EXPECT_FALSE(tree().make_directory("/a/b/c", {}, false));
  EXPECT_TRUE(tree().make_directory("/a/b/c", {}, true));
  EXPECT_TRUE(tree().make_directory("/a/b/c", {}, true));
  EXPECT_TRUE(tree().make_directory("/a/b/d/e", {}, true));
  EXPECT_EQ(tree().list("/", 9).value().as_array()->size(), 5u);
}

TEST_F(VolumeTreeTest, DoesNotMakeThroughFilesAndLinks) {
  ASSERT_TRUE(tree().open_to_write("/file", {}, true));
  std::filesystem::create_symlink("/tmp", directory_ + "/link");
  for (const char* path : {"/file/x/y", "/link/x/y"}) {
    Result<Value> made = tree().make_directory(path, {}, true);
    EXPECT_TRUE(!made && made.error().code == Code::conflict) << path;
  }
}

TEST_F(VolumeTreeTest, RefusesPathsThatAreTooLong) {
  std::string deep;
  for (int i = 0; i < 256; ++i) deep += "/d";
  EXPECT_TRUE(tree().make_directory(deep, {}, true));
  for (const std::string& path :
       {deep + "/d", std::string(5000, 'x'),
        "/" + join(std::vector<std::string>(50, std::string(100, 'x')), "/")}) {
    Result<Value> made = tree().make_directory(path, {}, true);
    EXPECT_TRUE(!made && made.error().code == Code::invalid);
  }
}

}  // namespace
}  // namespace paddock::api
