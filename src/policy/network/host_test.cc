#include "policy/network/host.h"

#include "policy/test_cases.h"

namespace paddock::policy {

TEST(CanonicalHost, ReadsOrRefusesEveryCase) {
  for (const Value& entry : test_cases("host.toml", "case")) {
    SCOPED_TRACE(text_of(entry, "text"));
    Result<Host> host = canonical_host(text_of(entry, "text"));
    if (entry.find("error")) {
      ASSERT_FALSE(host) << to_string(host.value());
      EXPECT_EQ(host.error().code, Code::invalid);
      EXPECT_NE(host.error().message.find(text_of(entry, "error")), std::string::npos)
          << host.error().message;
      continue;
    }
    ASSERT_TRUE(host) << host.error().message;
    EXPECT_EQ(to_string(host.value()), text_of(entry, "canonical"));
    EXPECT_EQ(host.value().address_bits, entry.find("bits") ? *entry.find("bits")->as_int() : 0);
    EXPECT_EQ(host.value().name.empty(), host.value().is_address());
    EXPECT_EQ(canonical_host(to_string(host.value())).value(), host.value());
  }
}

TEST(CanonicalHost, CountsLabelsAndWholeNames) {
  std::string label(63, 'a');
  std::string longest = cat(label, ".", label, ".", label, ".", std::string(61, 'b'));
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_TRUE(canonical_host(longest));
  EXPECT_TRUE(canonical_host(longest + "."));
  EXPECT_FALSE(canonical_host(longest + "b"));
  EXPECT_FALSE(canonical_host(label + "a.example"));
}

TEST(CanonicalHost, RefusesEveryCharacterThatNoNameHas) {
  const std::string allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  for (int byte = 0; byte < 256; ++byte) {
    std::string text = cat("ex", static_cast<char>(byte), "ample.com");
    EXPECT_EQ(static_cast<bool>(canonical_host(text)),
              allowed.find(static_cast<char>(byte)) != std::string::npos)
        << byte;
  }
}

TEST(CanonicalHost, QuotesOnlySomeOfWhatItRefuses) {
  Result<Host> host = canonical_host(std::string(100'000, 'a'));
  ASSERT_FALSE(host);
  EXPECT_LT(host.error().message.size(), 1000u);
}

TEST(CanonicalHost, TheSameAddressIsTheSameHostHoweverItIsWritten) {
  EXPECT_EQ(canonical_host("[::ffff:10.0.0.5]").value(), canonical_host("10.0.0.5").value());
  EXPECT_EQ(canonical_host("[::FFFF:0a00:0005]").value(), canonical_host("10.0.0.5").value());
  EXPECT_EQ(canonical_host("[2001:DB8:0:0::1]").value(), canonical_host("[2001:db8::1]").value());
  EXPECT_FALSE(canonical_host("[::10.0.0.5]").value() == canonical_host("10.0.0.5").value());
}

}  // namespace paddock::policy
