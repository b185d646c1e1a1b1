// What the tests of this layer share: a state directory and a workspace that vanish with the test.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "linux/tree.h"

namespace paddock::store {

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock_store_test.XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    base_ = path;
    ASSERT_EQ(::setenv("PADDOCK_STATE", (base_ + "/state").c_str(), 1), 0);
  }
  void TearDown() override {
    (void)::unsetenv("PADDOCK_STATE");
    Fd tmp = open_file("/tmp", O_RDONLY | O_DIRECTORY).value();
    EXPECT_TRUE(kernel::remove_tree(tmp.get(), base_.substr(5)));
  }

  // All paths below are relative to base().
  std::string at(const std::string& path) const { return base_ + "/" + path; }
  void make(const std::string& path) { ASSERT_EQ(::mkdir(at(path).c_str(), 0755), 0) << path; }
  void write(const std::string& path, const std::string& text, unsigned mode = 0644) {
    Result<Fd> file = open_file(at(path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ASSERT_TRUE(file) << path;
    ASSERT_TRUE(write_all(file.value().get(), text));
    ASSERT_EQ(::fchmod(file.value().get(), mode), 0);
  }
  void link(const std::string& target, const std::string& path) {
    ASSERT_EQ(::symlink(target.c_str(), at(path).c_str()), 0) << path;
  }
  std::string read(const std::string& path) const {
    Result<std::string> text = read_file(at(path), 64 << 20);
    return text ? text.value() : "(" + text.error().message + ")";
  }
  bool exists(const std::string& path) const {
    struct stat info;
    return ::lstat(at(path).c_str(), &info) == 0;
  }
  unsigned mode(const std::string& path) const {
    struct stat info;
    return ::lstat(at(path).c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
  }
  std::vector<std::string> names(const std::string& path) const {
    Result<Fd> fd = open_file(at(path), O_RDONLY | O_DIRECTORY);
    if (!fd) return {};
    return kernel::list_directory(fd.value().get()).value();
  }

  std::string base_;
};

}  // namespace paddock::store
