#include "policy/glob.h"

#include "policy/test_cases.h"

namespace paddock::policy {

TEST(Glob, DecidesEveryCase) {
  for (const Value& entry : test_cases("glob.toml", "case")) {
    std::string pattern = text_of(entry, "pattern");
    for (const std::string& path : texts_of(entry, "yes"))
      EXPECT_TRUE(glob_matches(pattern, path)) << pattern << " on " << path;
    for (const std::string& path : texts_of(entry, "no"))
      EXPECT_FALSE(glob_matches(pattern, path)) << pattern << " on " << path;
  }
}

TEST(Glob, ManyStarsDoNotExplode) {
  std::string pattern, path;
  for (int i = 0; i < 60; ++i) pattern += "**/*a*a*a*b/";
  for (int i = 0; i < 60; ++i) path += "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/";
  EXPECT_FALSE(glob_matches(pattern, path));
  EXPECT_FALSE(glob_matches(std::string(2000, '*') + "b", std::string(4000, 'a')));
}

TEST(Glob, KnowsAPatternFromAPath) {
  EXPECT_TRUE(is_glob("**/.env"));
  EXPECT_TRUE(is_glob("/a/b?"));
  EXPECT_TRUE(is_glob("[ab]"));
  EXPECT_FALSE(is_glob("/home/agent/.ssh"));
  EXPECT_FALSE(is_glob("{a,b}"));
}

}  // namespace paddock::policy
