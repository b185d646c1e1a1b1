#include "base/base64.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock {
namespace {

TEST(Base64, ReadsWhatItWrote) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    Result<std::string> read = from_base64(base64(bytes));
    ASSERT_TRUE(read) << i;
    EXPECT_EQ(read.value(), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64, RefusesEveryOtherSpelling) {
  for (const char* text : {"Y", "YQ", "YQ=", "=", "====", "Y===", "YQ==YQ==", "YR==", "YWJ=",
                           "YW Jj", "YWJj\n", "YW-_", "YQ==\n", "Y=Q=", "YWJj\xff"})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace paddock
