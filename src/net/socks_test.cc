#include "net/socks.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace paddock::net {

namespace {

using namespace std::literals;

Parse greeting(const std::string& bytes) {
  size_t size = 0;
  return parse_socks_greeting(bytes, size);
}

Parse request(const std::string& bytes) {
  size_t size = 0;
  SocksRequest ignored;
  return parse_socks_request(bytes, size, ignored);
}

}  // namespace

TEST(SocksGreeting, TakesOneThatOffersNoAuthentication) {
  for (const std::string& bytes : {"\x05\x01\x00"s, "\x05\x03\x02\x00\x01"s, "\x05\x02\x02\x00"s}) {
    size_t size = 0;
    EXPECT_EQ(parse_socks_greeting(bytes + "more", size), Parse::done);
    EXPECT_EQ(size, bytes.size());
    for (size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_EQ(greeting(bytes.substr(0, cut)), Parse::more);
  }
}

TEST(SocksGreeting, RefusesOthers) {
  for (const std::string& bytes : {"\x04"s, "\x04\x01\x00\x50"s, "\x05\x00"s, "\x05\x01\x02"s,
                                   "\x05\x02\x01\x02"s, "G"s, "\xff"s}) {
    EXPECT_EQ(greeting(bytes), Parse::wrong) << printable(bytes);
  }
}

TEST(SocksRequest, ReadsEveryKindOfAddress) {
  struct Case {
    std::string bytes, host;
  };
  for (const auto& [bytes, host] : {
           Case{"\x05\x01\x00\x01\xcb\x00\x71\x07\x01\xbb"s, "203.0.113.7"},
           {"\x05\x01\x00\x03\x0b"
            "Example.com\x01\xbb"s,
            "Example.com"},
           {"\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x01\xbb"s, "[2001:db8::1]"},
       }) {
    size_t size = 0;
    SocksRequest parsed;
    ASSERT_EQ(parse_socks_request(bytes + "more", size, parsed), Parse::done) << host;
    EXPECT_EQ(size, bytes.size());
    EXPECT_EQ(parsed.command, 1);
    EXPECT_EQ(parsed.host, host);
    EXPECT_EQ(parsed.port, 443);
    for (size_t cut = 0; cut < bytes.size(); ++cut)
      EXPECT_EQ(request(bytes.substr(0, cut)), Parse::more) << host << " " << cut;
  }
}

TEST(SocksRequest, ReadsTheLongestName) {
  size_t size = 0;
  SocksRequest parsed;
  ASSERT_EQ(
      parse_socks_request("\x05\x03\x00\x03\xff"s + std::string(255, 'a') + "\0\0"s, size, parsed),
      Parse::done);
  EXPECT_EQ(parsed.command, 3);
  EXPECT_EQ(parsed.host.size(), 255u);
}

TEST(SocksRequest, RefusesOthers) {
  for (const std::string& bytes : {
           "\x04"s, "\x05\x01\x01"s, "\x05\x01\x00\x00"s, "\x05\x01\x00\x02"s, "\x05\x01\x00\x05"s,
           "\x05\x01\x00\xff"s,
           "\x05\x01\x00\x03\x00"s,  // an empty name
           "\x05\x01\x00\x03\x03"
           "a\0b\x01\xbb"s,  // a NUL in it
       }) {
    EXPECT_EQ(request(bytes), Parse::wrong) << printable(bytes);
  }
}

TEST(SocksReply, TellsTheCodeAndNoAddress) {
  EXPECT_EQ(make_socks_reply(SocksCode::not_allowed), "\x05\x02\x00\x01\0\0\0\0\0\0"s);
}

}  // namespace paddock::net
