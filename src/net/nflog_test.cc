#include "net/nflog.h"

#include <gtest/gtest.h>

namespace paddock::net {

namespace {

TEST(Nflog, IsReadFromWhatTheKernelSays) {
  // NFLOG of a UDP datagram from 198.18.0.1 to 8.8.8.8:443.
  std::string_view message(
      "`\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\2\0\0\5\b\0\1\0\b\0\3\0\5\0\n\0\0\0\0\0\b\0\5\0\0\0\0\1\b\0"
      "\v\0\0\0\0\0\b\0\16\0\0\0\0\0!\0\t\0"
      "E\0\0\35\357\272@\0@\21t\362\306\22\0\1\b\b\b\b\306\337\1\273\0\t\326=x\0\0\0",
      96);
  std::optional<DroppedPacket> dropped = parse_dropped(message);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->protocol, "udp");
  EXPECT_EQ(to_string(dropped->to), "8.8.8.8:443");
  // And does not read beyond.
  for (size_t size = 0; size < message.size(); ++size) (void)parse_dropped(message.substr(0, size));
}

}  // namespace

}  // namespace paddock::net
