#include "egress/routes.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>

#include "linux/netlink.h"

namespace paddock::egress {

Result<Routes> Routes::open() {
  Routes routes;
  routes.socket_ = TRY(kernel::open_netlink(NETLINK_ROUTE));
  return routes;
}

// Whether the kernel would deliver to this machine itself. In doubt it would.
bool Routes::stays_here(const net::Address& address) {
  struct {
    nlmsghdr head;
    rtmsg route;
    rtattr attribute;
    uint8_t destination[16];
  } question{};
  size_t size = address.ipv6 ? 16 : 4;
  question.head.nlmsg_len = static_cast<uint32_t>(NLMSG_LENGTH(sizeof(rtmsg)) + RTA_LENGTH(size));
  question.head.nlmsg_type = RTM_GETROUTE;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.head.nlmsg_seq = ++sequence_;
  question.route.rtm_family = address.ipv6 ? AF_INET6 : AF_INET;
  question.route.rtm_dst_len = static_cast<uint8_t>(size * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = static_cast<uint16_t>(RTA_LENGTH(size));
  std::memcpy(question.destination, address.bytes.data(), size);
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket_.get(), &question, question.head.nlmsg_len, 0,
               reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) < 0)
    return true;
  alignas(nlmsghdr) char answer[4096];  // it is there already: the kernel answers within sendto
  ssize_t count = ::recv(socket_.get(), answer, sizeof answer, 0);
  nlmsghdr head;
  if (count < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg)))) return true;
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_seq != question.head.nlmsg_seq) return true;
  if (head.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr failure;
    std::memcpy(&failure, answer + NLMSG_HDRLEN, sizeof failure);
    // No route: it will not be reached at all.
    return failure.error != -ENETUNREACH && failure.error != -EHOSTUNREACH;
  }
  rtmsg route;
  std::memcpy(&route, answer + NLMSG_HDRLEN, sizeof route);
  return route.rtm_type != RTN_UNICAST;
}

}  // namespace paddock::egress
