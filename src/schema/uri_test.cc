#include "schema/uri.h"

#include <gtest/gtest.h>

namespace paddock::schema {
namespace {

TEST(Uri, ResolvesTheExamplesOfRfc3986) {
  const std::pair<const char*, const char*> cases[] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q#s"},
      {"g#s", "http://a/b/c/g#s"},
      {";x", "http://a/b/c/;x"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {"./g/.", "http://a/b/c/g/"},
      {"g/../h", "http://a/b/c/h"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
  };
  Uri base = Uri::parse("http://a/b/c/d;p?q");
  for (const auto& [reference, expected] : cases)
    EXPECT_EQ(resolve(base, Uri::parse(reference)).text(), expected) << reference;
  EXPECT_EQ(resolve(Uri::parse("urn:x:y"), Uri::parse("#a")).text(), "urn:x:y#a");
  EXPECT_EQ(resolve(Uri(), Uri::parse("a/b")).text(), "a/b");
}

}  // namespace
}  // namespace paddock::schema
