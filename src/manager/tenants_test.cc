#include "manager/tenants.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace paddock::manager {

namespace {

class TenantsTest : public testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/paddock-test-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    path_ = path;
    directory_ = open_file(path_, O_RDONLY | O_DIRECTORY).value();
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string path_;
  Fd directory_;
};

}  // namespace

TEST_F(TenantsTest, AreKeptAndUnknownOnesHaveTheDefaults) {
  Tenants tenants = Tenants::open(directory_.get()).value();
  ASSERT_TRUE(tenants.set(
      {.name = "a", .quota = {.sandboxes = 3, .longest_timeout_ms = 0}, .policy = "strict"}));
  ASSERT_TRUE(tenants.set({.name = "a", .quota = {.sandboxes = 4}, .policy = "python"}));
  Tenants again = Tenants::open(directory_.get()).value();
  EXPECT_EQ(again.find("a").quota.sandboxes, 4u);
  EXPECT_EQ(again.find("a").policy, "python");
  EXPECT_EQ(again.find("b").quota.sandboxes, 0u);
  EXPECT_EQ(again.find("b").quota.longest_timeout_ms, 86'400'000u);
  EXPECT_EQ(again.all().size(), 1u);
}

TEST_F(TenantsTest, RefusesNamesAndFilesThatAreNone) {
  Tenants tenants = Tenants::open(directory_.get()).value();
  for (const char* name : {"", "../x", "A", "a b", "-a", "a\n"})
    EXPECT_FALSE(tenants.set({.name = name})) << name;
  for (const char* text :
       {"", "{}", "{\"format\":\"paddock.tenants\",\"version\":2,\"tenants\":[]}",
        "{\"format\":\"paddock.tenants\",\"version\":1,\"tenants\":[{\"name\":\"a\",\"sandboxes\":-"
        "1}]}"}) {
    Fd file(::openat(directory_.get(), "tenants.json", O_WRONLY | O_CREAT | O_TRUNC, 0600));
    ASSERT_TRUE(write_all(file.get(), text));
    EXPECT_FALSE(Tenants::open(directory_.get())) << text;
  }
}

}  // namespace paddock::manager
