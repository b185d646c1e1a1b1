#include "policy/network/rule.h"

#include "policy/test_cases.h"

namespace paddock::policy {

TEST(NetworkRule, ReadsOrRefusesEveryCase) {
  for (const Value& entry : test_cases("network.toml", "entry")) {
    SCOPED_TRACE(text_of(entry, "text"));
    Result<NetworkRule> rule = parse_network_rule(text_of(entry, "text"));
    if (entry.find("error")) {
      ASSERT_FALSE(rule) << to_string(rule.value());
      EXPECT_NE(rule.error().message.find(text_of(entry, "error")), std::string::npos)
          << rule.error().message;
      continue;
    }
    ASSERT_TRUE(rule) << rule.error().message;
    EXPECT_EQ(to_string(rule.value()), text_of(entry, "canonical"));
    EXPECT_EQ(is_wide(rule.value()), *entry.find("wide")->as_bool());
    Result<NetworkRule> again = parse_network_rule(to_string(rule.value()));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(to_string(again.value()), to_string(rule.value()));
  }
}

TEST(NetworkRule, CoversWhatEveryCaseSays) {
  auto rule = [](const std::string& text) {
    Result<NetworkRule> parsed = parse_network_rule(text);
    EXPECT_TRUE(parsed) << parsed.error().message;
    return parsed ? parsed.value() : NetworkRule{};
  };
  for (const Value& entry : test_cases("network.toml", "covers")) {
    std::string wide = text_of(entry, "wide");
    for (const std::string& narrow : texts_of(entry, "yes"))
      EXPECT_TRUE(covers(rule(wide), rule(narrow))) << wide << " over " << narrow;
    for (const std::string& narrow : texts_of(entry, "no"))
      EXPECT_FALSE(covers(rule(wide), rule(narrow))) << wide << " over " << narrow;
  }
}

TEST(NetworkRule, OffersTheRangeThatWasMeant) {
  Result<NetworkRule> rule = parse_network_rule("10.1.2.3/8");
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().hint, "did you mean '10.0.0.0/8'?");
}

}  // namespace paddock::policy
