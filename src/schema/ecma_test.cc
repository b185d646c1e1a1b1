#include "schema/ecma.h"

#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

bool matches(const char* pattern, std::string_view text) {
  Result<EcmaPattern> compiled = EcmaPattern::compile(pattern);
  EXPECT_TRUE(compiled) << pattern << (compiled ? "" : compiled.error().message);
  return compiled && compiled.value().matches(text);
}

std::string refusal(const char* pattern) {
  Result<EcmaPattern> compiled = EcmaPattern::compile(pattern);
  return compiled ? "taken" : compiled.error().message;
}

TEST(Ecma, MeansWhatJavaScriptMeans) {
  EXPECT_TRUE(matches("^[a-z]+$", "abc"));
  EXPECT_FALSE(matches("^[a-z]+$", "abc\n"));  // $ is the end and nothing else
  EXPECT_FALSE(matches("^a$", "a\na"));
  EXPECT_TRUE(matches("b", "abc"));
  EXPECT_FALSE(matches("^.$", "\r"));
  EXPECT_FALSE(matches("^.$", "\xe2\x80\xa8"));
  EXPECT_TRUE(matches("^.$", "😀"));
  EXPECT_TRUE(matches("^\\s$", "\xc2\xa0"));
  EXPECT_FALSE(matches("^\\S$", "\xef\xbb\xbf"));
  EXPECT_TRUE(matches("^[\\S]$", "x"));
  EXPECT_FALSE(matches("^[\\S]$", "\xe2\x80\x83"));
  EXPECT_FALSE(matches("^\\d$", "৪"));
  EXPECT_FALSE(matches("^\\w$", "é"));
  EXPECT_TRUE(matches("^\\cA\\x42\\u0043\\u{1f600}\\ud83d\\ude00$",
                      "\x01"
                      "BC😀😀"));
  EXPECT_TRUE(matches("^\\p{Letter}\\p{Script=Greek}[\\p{Lu}\\P{L}]$", "éαÄ"));
  EXPECT_TRUE(matches("^(?<year>\\d{4})-(?:a|b)+?$", "2026-ab"));
  // No named classes there: a set, and then brackets.
  EXPECT_TRUE(matches("^[[:alpha:]]+$", ":]]]"));
  EXPECT_TRUE(matches("^[\\w.-]+@[a-\\d-]$", "a.b-c@-"));
  EXPECT_TRUE(matches("^[^]$", "\n"));
  EXPECT_FALSE(matches("[]", "x"));
  EXPECT_TRUE(matches("^[\\b]\\/\\-\\@$", "\b/-@"));
  EXPECT_TRUE(matches("^{a}$", "{a}"));
  EXPECT_FALSE(matches("^\\\\Q.\\\\E$", "."));
}

TEST(Ecma, RefusesWhatCannotBeMatchedInLinearTime) {
  EXPECT_EQ(refusal("a(?=b)"), "'a(?=b)' has look-around, which is not held here");
  for (const char* pattern :
       {"(?!a)", "^(?!a)b|c", "^(?=(?!a)b)c", "(^(?=a))", "^(?=a)(?=a)(?=a)(?=a)(?=a)b", "(?<=a)b",
        "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>", "a{1001}", "a{0,99999999999}", "\\ud800"})
    EXPECT_NE(refusal(pattern).find("not held here"), std::string::npos)
        << pattern << refusal(pattern);
}

TEST(Ecma, HoldsLookAheadsAtTheStart) {
  // What zod writes.
  constexpr const char* kEmail =
      "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+["
      "A-Za-z]{2,}$";
  EXPECT_TRUE(matches(kEmail, "a.b@example.com"));
  for (const char* text : {".a@example.com", "a..b@example.com", "a@example..com", "a@b"})
    EXPECT_FALSE(matches(kEmail, text)) << text;
  constexpr const char* kHost = "^(?=.{1,10}\\.?$)[a-z]+(?:\\.[a-z]+)*\\.?$";
  EXPECT_TRUE(matches(kHost, "a.b.c."));
  EXPECT_FALSE(matches(kHost, "abcdef.ghijk"));
  EXPECT_TRUE(matches("^(?=a|b)(?!ab)(?:.|..)$", "bb"));
  EXPECT_FALSE(matches("^(?=a|b)(?!ab)(?:.|..)$", "ab"));
  EXPECT_FALSE(matches("^(?=a|b)(?!ab)(?:.|..)$", "xa"));
  EXPECT_TRUE(matches("^(?!a)", ""));
}

TEST(Ecma, RefusesWhatIsNoPattern) {
  for (const char* pattern :
       {"(",        ")",     "^(abc]", "^(?=a",       "^(?=a)*b", "[a",   "a**",
        "*",        "a|*",   "(?i)a",  "\\",          "\\a",      "\\Q",  "[b-a]",
        "a{2,1}",   "\\u12", "\\x1",   "\\u{110000}", "\\p",      "\\pL", "x{1}{2}",
        "(?P<n>a)", "\\A",   "\\z",    "[\\1]",       "\\00"})
    EXPECT_NE(refusal(pattern).find("is no regular expression"), std::string::npos)
        << pattern << " " << refusal(pattern);
}

TEST(Ecma, TellsWellFormedPatternsFromOthers) {
  EXPECT_TRUE(is_ecma_pattern("(?=a)\\1"));
  EXPECT_FALSE(is_ecma_pattern("(a"));
}

}  // namespace
}  // namespace paddock::schema
