#include "base/url.h"

#include <gtest/gtest.h>

namespace paddock {

TEST(Url, IsTakenApart) {
  Url url = parse_url("HTTPS://example.com:8443/a?b#c").value();
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.authority, "example.com:8443");
  EXPECT_EQ(url.host, "example.com");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/a?b#c");
  Url address = parse_url("http://[2001:db8::1]:80").value();
  EXPECT_EQ(address.host, "[2001:db8::1]");
  EXPECT_EQ(address.port, 80);
  EXPECT_EQ(address.path, "");
  EXPECT_EQ(parse_url("http://example.com?x").value().path, "?x");
  EXPECT_EQ(parse_url("http://[::1]/").value().port, std::nullopt);
}

TEST(Url, RefusesWhatProgramsDisagreeAbout) {
  for (const char* text : {"",
                           "example.com",
                           "//example.com",
                           "://example.com",
                           "http:/example.com",
                           "http://",
                           "http:///path",
                           "http://user@example.com/",
                           "http://a?@example.com/",
                           "http://a#@b",
                           "http://a\\b/",
                           "http://a b/",
                           "http://ex\xc3\xa4mple.com/",
                           "http://a/\x7f",
                           "h2://a/",
                           "http://a:/",
                           "http://a:0/",
                           "http://a:080/",
                           "http://a:65536/",
                           "http://a:8x/",
                           "http://a:+8/",
                           "http://[::1]:x/"})
    EXPECT_FALSE(parse_url(text)) << text;
  EXPECT_FALSE(parse_url("http://a/" + std::string(9000, 'x')));
  EXPECT_TRUE(parse_url("http://a/@b"));
}

TEST(Url, AnErrorDoesNotQuoteIt) {
  EXPECT_EQ(parse_url("https://user:secret@example.com").error().message.find("secret"),
            std::string::npos);
}

}  // namespace paddock
