#include "schema/format.h"

#include "schema/test_cases.h"

namespace paddock::schema {
namespace {

void expect_format(const char* name, const std::vector<std::string_view>& good,
                   const std::vector<std::string_view>& bad) {
  const Format* format = find_format(name);
  ASSERT_TRUE(format) << name;
  EXPECT_TRUE(format->holds(format->example)) << name;
  for (std::string_view text : good) EXPECT_TRUE(format->holds(text)) << name << " " << text;
  for (std::string_view text : bad) EXPECT_FALSE(format->holds(text)) << name << " " << text;
}

TEST(Formats, OfTime) {
  expect_format("date", {"2020-02-29", "0400-02-29"},
                {"2021-02-29", "2100-02-29", "2020-13-01", "2020-1-01", "2020-01-01 ", "",
                 "+2020-01-01", "2020-01-0:"});
  expect_format("time", {"23:59:60Z", "01:29:60+01:30", "08:30:06.283185z", "00:29:60-23:30"},
                {"12:00:00", "24:00:00Z", "23:58:60Z", "12:00:00.Z", "12:00:00+24:00", "1:00:00Z"});
  expect_format(
      "date-time", {"1998-12-31T23:59:60Z", "1963-06-19t08:30:06.28+00:20"},
      {"1990-02-31T15:59:59Z", "1990-12-31 15:59:59Z", "1985-04-12T23:20:50Z\n", "T", ""});
  expect_format(
      "duration", {"P4DT12H30M5S", "PT36H", "P2W", "P1Y2M"},
      {"P", "PT", "P1YT", "P2D1Y", "P1Y2D", "P1Y2W", "PT0.5S", "P1D2T3H", "P-1D", "1D", "P1"});
}

TEST(Formats, OfNamesAndAddresses) {
  expect_format("email",
                {"a.b@example.com", "\"joe bloggs\"@example.com", "\"a\\\"b\"@x", "a@[127.0.0.1]",
                 "a@[IPv6:::1]"},
                {"a", "@b", "a@", ".a@b", "a..b@c", "a b@c", "a@b@c", "a@[1.2.3]", "a@b=c",
                 "\"a\"b\"@c", "\"a\\\"@c", "Joe <joe@example.com>", "a@b, c@d", "a\n@b", "ä@b"});
  expect_format("idn-email", {"실례@실례.테스트"}, {"2962", "a@"});
  expect_format("hostname", {"localhost", "a--b.com", "1host"},
                {"", ".", "a.", "-a", "a-", "a_b", "a..b", "ä.de", "a b", "example.com\n"});
  expect_format("ipv4", {"0.0.0.0", "255.255.255.255"},
                {"1.2.3", "256.0.0.1", "01.2.3.4", "1.2.3.4 ", "0x7f.1", "1", "1.2.3.4\n",
                 std::string_view("1.2.3.4\0", 8)});
  expect_format("ipv6", {"::", "::1", "::ffff:192.0.2.1", "1:2:3:4:5:6:7:8"},
                {"::1%eth0", "[::1]", "1:2", "12345::", "::1/64", ":::"});
  expect_format("uuid", {"2EB8AA08-aa98-11ea-B4AA-73B441D16380"},
                {"2eb8aa08aa9811eab4aa73b441d16380", "", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"});
}

TEST(Formats, OfUris) {
  expect_format("uri",
                {"http://a/b?c#d", "urn:a:b", "mailto:a@b", "http://[::1]:80/", "http://u:p@h",
                 "http://[v1.a:b]/"},
                {"/a", "", "a b:c", "http://a b", "http://a/%zz", "http://a:b/", "http://[::1",
                 "http://[1]/", "http://a/[", "http://ä/", "1a:b", "http://a@b@c/"});
  expect_format("uri-reference", {"", "#a", "//h/p", "a/b", "./a:b"},
                {"a b", "\\a", "1:b", "#a#b"});
  expect_format("iri", {"http://ä.example/ö"}, {"http://ä b", "ä"});
  expect_format("iri-reference", {"/ö"}, {"/ö \\"});
  expect_format("uri-template", {"", "/{a}", "{?x,y*,z:3}", "{%41.b}"},
                {"{", "}", "{}", "{a,}", "{a..b}", "{v:0}", "{v:10000}", "a b", "{a b}"});
}

TEST(Formats, OfPointersAndPatterns) {
  expect_format("json-pointer", {"", "/", "/a~0b~1", "/a//b"}, {"a", "/~", "/~2", "#/a"});
  expect_format("relative-json-pointer", {"0", "1/a", "0#"},
                {"", "01", "-1", "/a", "0##", "1#/a", "0a"});
  expect_format("regex", {"(?=a)", "[a-z]"}, {"(", "\\a", "[b-a]"});
}

TEST(Formats, ThatAreUnknownSayNothing) { EXPECT_EQ(find_format("colour"), nullptr); }

}  // namespace
}  // namespace paddock::schema
