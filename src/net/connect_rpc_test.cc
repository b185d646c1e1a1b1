#include "net/connect_rpc.h"

#include <gtest/gtest.h>

namespace paddock::net {
namespace {

TEST(ConnectRpc, AnEnvelopeComesBackAsItsMessage) {
  std::string body;
  append_envelope("{\"a\":1}", 0, body);
  EXPECT_EQ(body.substr(0, 5), std::string("\0\0\0\0\x07", 5));
  auto message = only_envelope(body);
  ASSERT_TRUE(message);
  EXPECT_EQ(message.value(), "{\"a\":1}");
}

TEST(ConnectRpc, TheLastEnvelopeIsMarked) {
  std::string body;
  append_envelope("{}", kEnvelopeEnd, body);
  EXPECT_EQ(body, std::string("\x02\0\0\0\x02{}", 7));
}

TEST(ConnectRpc, RefusesWhatIsNotExactlyOneMessage) {
  std::string one, two, compressed, ending;
  append_envelope("{}", 0, one);
  append_envelope("{}", 0, two);
  append_envelope("{}", 0, two);
  append_envelope("{}", kEnvelopeCompressed, compressed);
  append_envelope("{}", kEnvelopeEnd, ending);
  EXPECT_FALSE(only_envelope(""));
  EXPECT_FALSE(only_envelope(one.substr(0, 4)));
  EXPECT_FALSE(only_envelope(one.substr(0, 6)));
  EXPECT_FALSE(only_envelope(two));
  EXPECT_FALSE(only_envelope(compressed));
  EXPECT_FALSE(only_envelope(ending));
  EXPECT_FALSE(only_envelope(std::string("\0\xff\xff\xff\xff{}", 7)));
}

TEST(ConnectRpc, ReadsTimeouts) {
  EXPECT_EQ(parse_connect_timeout("").value(), std::nullopt);
  EXPECT_EQ(parse_connect_timeout("60000").value(), 60000);
  EXPECT_FALSE(parse_connect_timeout("-1"));
  EXPECT_FALSE(parse_connect_timeout("12345678901"));
  EXPECT_FALSE(parse_connect_timeout("1s"));
}

}  // namespace
}  // namespace paddock::net
