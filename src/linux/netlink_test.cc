#include "linux/netlink.h"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <string>

namespace paddock::kernel {
namespace {

// A question that everyone may ask: what is interface `index`?
std::string ask_for_link(int index, uint32_t sequence) {
  struct {
    nlmsghdr header;
    ifinfomsg link;
  } message{};
  message.header = {.nlmsg_len = sizeof message,
                    .nlmsg_type = RTM_GETLINK,
                    .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
                    .nlmsg_seq = sequence};
  message.link.ifi_index = index;
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

TEST(Netlink, TakesTheKernelsYesToEveryMessage) {
  EXPECT_TRUE(send_netlink(NETLINK_ROUTE, ask_for_link(1, 1) + ask_for_link(1, 2)));
}

TEST(Netlink, NamesTheMessageThatTheKernelRefuses) {
  Result<void> sent =
      send_netlink(NETLINK_ROUTE, ask_for_link(1, 1) + ask_for_link(999'999'999, 2));
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().message.find("netlink message 2 of 2 (type 18)"), std::string::npos)
      << sent.error().message;
}

TEST(Netlink, SendsNothingThatIsMalformed) {
  std::string message = ask_for_link(1, 1), longer = message;
  longer[0] = 100;
  for (const std::string& bytes : {message.substr(0, 8), message + "x", longer}) {
    Result<void> sent = send_netlink(NETLINK_ROUTE, bytes);
    ASSERT_FALSE(sent);
    EXPECT_EQ(sent.error().code, Code::internal);
  }
}

}  // namespace
}  // namespace paddock::kernel
