#include "linux/sub_ids.h"

#include <gtest/gtest.h>

namespace paddock::kernel {
namespace {

TEST(SubIds, AreFoundByNameAndByNumber) {
  std::string text = "bob:100000:65536\n1001:200000:65536\n";
  EXPECT_EQ(find_sub_range(text, 1000, "bob", 65535), 100000u);
  EXPECT_EQ(find_sub_range(text, 1001, "ann", 65535), 200000u);
  EXPECT_EQ(find_sub_range(text, 1002, "eve", 65535), std::nullopt);
}

TEST(SubIds, OfOthersAndTooFewAreNot) {
  EXPECT_EQ(find_sub_range("bob:100000:10\n", 1000, "bob", 65535), std::nullopt);
  EXPECT_EQ(find_sub_range(":100000:65536\n", 1000, "", 65535), std::nullopt);
  EXPECT_EQ(find_sub_range("bob:0:65536\nbob:4294967290:65536\nbob\n", 1000, "bob", 65535),
            std::nullopt);
}

}  // namespace
}  // namespace paddock::kernel
