// The grammar of patterns, by what custom ones find and by what is refused.
#include "redact/redact_test.h"

namespace paddock::redact {
namespace {

std::string with(const std::string& pattern, std::string_view text) {
  std::set<std::string> all;
  for (const KindInfo& info : kinds()) all.insert(info.name);
  std::shared_ptr<const Rules> rules = rules_with({.skip = all, .custom = {{"X", pattern}}});
  std::string whole = redacted(*rules, text);
  EXPECT_EQ(byte_by_byte(*rules, text), whole) << pattern << " on " << text;
  return whole;
}

std::string refusal(std::string_view pattern) {
  Result<void> result = check_pattern(pattern);
  return result ? "" : result.error().message;
}

TEST(Pattern, HasLiteralsClassesAndCounts) {
  EXPECT_EQ(with("EMP-\\d{4}", "EMP-1234 EMP-123 EMP-12345"), "[redacted:X] EMP-123 [redacted:X]5");
  EXPECT_EQ(with("key[a-c_-]{3,5}!", "keyab! keyabc! keya-_bc! keyabcabc!"),
            "keyab! [redacted:X] [redacted:X] keyabcabc!");
  EXPECT_EQ(with("ab\\h{2,}", "ab1 ab1f ab1F2e. abxx"), "ab1 [redacted:X] [redacted:X]. abxx");
  EXPECT_EQ(with("id=\\w+;?", "id=; id=ab; id=ab."), "id=; [redacted:X] [redacted:X].");
  EXPECT_EQ(with("a.c[^x]d", "abcyd abcxd a\ncyd"), "[redacted:X] abcxd a\ncyd");
  EXPECT_EQ(with("q\\x41\\.\\*z*", "qA.*zz! qA.*"), "[redacted:X]! [redacted:X]");
}

TEST(Pattern, HasGroupsOfAlternativesThatMayBeLeftOutOrRepeated) {
  EXPECT_EQ(with("(?:red|blue)-\\d{2}", "red-12 blue-34 green-56"),
            "[redacted:X] [redacted:X] green-56");
  EXPECT_EQ(with("acct(?:-(?:a|b))?-99", "acct-99 acct-a-99 acct-c-99"),
            "[redacted:X] [redacted:X] acct-c-99");
  EXPECT_EQ(with("(?:\\d{3}-){2}\\d{4}", "555-123-4567 555-1234"), "[redacted:X] 555-1234");
}

TEST(Pattern, HasPlacesThatRepeatAndThatMayBeLeftOutNextToEachOther) {
  EXPECT_EQ(with("begin[a-z]*[0-9]*[a-z]?end",
                 "beginend beginabc123end beginabend begin12xend begin1x2end"),
            "[redacted:X] [redacted:X] [redacted:X] [redacted:X] begin1x2end");
  EXPECT_EQ(with("xx[ab]{0,3}[bc]{0,3}yy", "xxyy xxabcyy xxabbbccyy xxabbbbbbbyy"),
            "[redacted:X] [redacted:X] [redacted:X] xxabbbbbbbyy");
  // More than 64 places, some to be left out across the words of the automaton.
  std::string a(60, 'a'), b(70, 'b');
  EXPECT_EQ(
      with("a{60}b{0,80}c{0,80}d", a + "d " + a + b + "d " + a + b + "cccd " + a + b + b + "d"),
      "[redacted:X] [redacted:X] [redacted:X] " + a + b + b + "d");
}

TEST(Pattern, KeepsWhatStandsBeforeTheMark) {
  EXPECT_EQ(with("(?i)pin:\\s*\\K\\d{4}", "PIN: 1234, pin:99"), "PIN: [redacted:X], pin:99");
}

TEST(Pattern, CanAskForWhatStandsBeforeAndBehind) {
  EXPECT_EQ(with("\\bab12\\b", "ab12 xab12 ab123 (ab12)"),
            "[redacted:X] xab12 ab123 ([redacted:X])");
  EXPECT_EQ(with("(?<![-x])ab12(?![-x])", "ab12 -ab12 ab12x ab12"),
            "[redacted:X] -ab12 ab12x [redacted:X]");
  EXPECT_EQ(with("user[a-z]{2}(?=@)", "userab@ userab"), "[redacted:X]@ userab");
}

TEST(Pattern, IgnoresCaseWhenAsked) {
  EXPECT_EQ(with("(?i)abc[d-f]{2}", "ABCde abcFF Abcdg"), "[redacted:X] [redacted:X] Abcdg");
}

TEST(Pattern, TheLongestMatchCounts) {
  EXPECT_EQ(with("ab\\d{2,4}", "ab123456"), "[redacted:X]56");
}

TEST(Pattern, SaysWhereAndWhyItIsRefused) {
  EXPECT_EQ(refusal("ab[c"), "pattern, byte 3: ']' is missing");
  EXPECT_EQ(refusal("ab(c)d"),
            "pattern, byte 3: a group is written (?:…); there are no other kinds here");
  EXPECT_EQ(refusal("abcd|efgh"), "pattern, byte 5: alternatives stand in a group: (?:a|b)");
  EXPECT_EQ(refusal("(?:ab)+cd"),
            "pattern, byte 8: a group cannot be repeated without an end; only one element can");
  EXPECT_EQ(refusal("ab\\1cd"), "pattern, byte 4: '\\1' is not known here");
  EXPECT_EQ(refusal("abcd{2,1}"), "pattern, byte 10: the second number is smaller than the first");
  EXPECT_EQ(refusal("*abcd"), "pattern, byte 1: there is nothing to repeat here");
  EXPECT_EQ(refusal("abcd+?"), "pattern, byte 6: it is repeated already");
  EXPECT_EQ(refusal("^abcd"),
            "pattern, byte 1: '^' and '$' are not known here: text comes in pieces, not in lines");
  EXPECT_EQ(refusal("ab\\bcd"),
            "pattern, byte 5: '\\b', '(?!…)' and '(?=…)' stand at the end only");
  EXPECT_EQ(refusal("abcd{9999}"), "pattern, byte 9: more than 500 times");
  EXPECT_EQ(refusal("ab[z-a]cd"), "pattern, byte 7: this range goes backwards");
  for (const char* pattern : {"",
                              "abc",
                              "a*b*c*d*e*",
                              "abcd\\K",
                              "abcd\\Kx*",
                              ".{4}abcd",
                              "[^a]{8}",
                              "abcd)",
                              "a\\",
                              "(?:a|b",
                              "abcd{",
                              "abcd{2",
                              "[]",
                              "\\q",
                              "ab\\Kc\\Kde",
                              "(?:ab\\Kcd)",
                              "abcde(?=",
                              "abcde(?!)",
                              "\xc3\xa4+bcdef",
                              "a{300}b{300}",
                              "(?:a|b){9}cd"})
    EXPECT_NE(refusal(pattern), "") << pattern;
}

TEST(Pattern, ACustomOneIsRefusedByItsName) {
  Result<std::shared_ptr<const Rules>> rules = Rules::compile({.custom = {{"staff", "ab(c)"}}});
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.error().message.find("'staff': pattern, byte 3"), std::string::npos)
      << rules.error().message;
}

}  // namespace
}  // namespace paddock::redact
