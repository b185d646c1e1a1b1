#include "net/http_url.h"

#include <gtest/gtest.h>

namespace paddock::net {
namespace {

TEST(HttpUrl, IsTakenApart) {
  HttpUrl url = parse_http_url("https://mcp.example/mcp?team=7").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.host, "mcp.example");
  EXPECT_EQ(url.port, 443);
  EXPECT_EQ(url.path, "/mcp?team=7");
  url = parse_http_url("http://[::1]:8080?x").value();
  EXPECT_FALSE(url.tls);
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.authority, "[::1]:8080");
  EXPECT_EQ(url.port, 8080);
  EXPECT_EQ(url.path, "/?x");
}

TEST(HttpUrl, HasThePortThatItsUserExpects) {
  EXPECT_EQ(parse_http_url("http://collector").value().port, 80);
  EXPECT_EQ(parse_http_url("http://collector", 4318).value().port, 4318);
  EXPECT_EQ(parse_http_url("https://collector", 4318).value().port, 443);
}

TEST(HttpUrl, RefusesOtherSchemesUsersFragmentsAndOddBytes) {
  for (const char* text : {"ftp://a", "a", "", "http://", "http:///x", "http://u@a", "http://a#x",
                           "http://a:99999", "http://[x]", "http://a/\xc3\xbc", "http://a b",
                           "http://a/\"", "http://a\\b", "http://a/\n"})
    EXPECT_FALSE(parse_http_url(text)) << text;
}

}  // namespace
}  // namespace paddock::net
